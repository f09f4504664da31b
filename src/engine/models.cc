#include "engine/models.h"

#include <algorithm>

#include "aggregate/secret_noise.h"
#include "recipe/choices.h"

namespace muster {

AggregatorSizes aggregator_sizes(const Recipe& recipe, const Network& network, std::uint32_t clients) {
  AggregatorSizes sizes{.parameters = network.parameters(),
                        .size = network.size(),
                        .clients = clients,
                        .alpha = recipe.local.objective.alpha,
                        .smoothed = {},
                        .seed = recipe.seed};
  if (const auto fusion = fusion_of(recipe.local.objective); fusion && *fusion != Fusion::kConv) {
    const ParameterRange shares = network.fusion();
    sizes.smoothed = {shares.offset, shares.size, recipe.local.objective.share_smoothing};
  }
  return sizes;
}

namespace {

// Whether members of a group count by their samples.
bool weighs_members(const std::string& in_group) {
  return in_group == AggregationOptions{}.in_group || in_group == kSecureSum;
}

}  // namespace

Result<std::unique_ptr<Models>> make_models(const Recipe& recipe, const AggregatorSizes& sizes,
                                            std::vector<float> initial, ParameterRanges shared,
                                            const NoiseSource* noise) {
  const AggregationEntry* const entry = find_aggregation(recipe.aggregation.global);
  const ModelKeeping keeping = entry ? entry->models : ModelKeeping::kShared;
  if (keeping == ModelKeeping::kPerGroup && forms_singletons(recipe.grouping)) {
    return make_client_models(std::move(initial));
  }
  if (keeping == ModelKeeping::kPerGroup) {
    return make_group_models(recipe.aggregation.mixing, std::move(initial),
                             {.ranges = std::move(shared), .by_samples = weighs_members(recipe.aggregation.in_group)},
                             recipe.aggregation.mixing_normalize);
  }
  if (keeping == ModelKeeping::kSlots) {
    const bool corrects =
        std::ranges::find(entry->also_serves, recipe.local.objective.name) != entry->also_serves.end();
    return make_slot_models({.window = recipe.aggregation.window.value_or(0),
                             .seed = recipe.seed,
                             .alpha = corrects ? recipe.local.objective.alpha : 0,
                             .clients = sizes.clients,
                             .parameters = sizes.parameters},
                            std::move(initial));
  }
  MUSTER_ASSIGN(std::unique_ptr<Aggregator> aggregator, make_aggregator(recipe.aggregation, sizes));
  if (recipe.dp.on()) {
    PrivacyOptions privacy = recipe.dp;
    if (sums_securely(recipe)) privacy.noise_multiplier = 0;  // it is in what the members gave
    aggregator = make_private_sum(std::move(aggregator), privacy, sizes, noise ? *noise : NoiseSource());
  }
  return make_shared_model(std::move(aggregator), std::move(initial));
}

}  // namespace muster
