#include "engine/expected_work.h"

#include <algorithm>

#include "solver/training_flops.h"

namespace muster {
namespace {

constexpr double kMembers = 10;         // of a group, where the recipe does not say
constexpr std::uint32_t kAsked = 1000;  // clients whose samples are counted

double drawn_clients(const Recipe& recipe, std::uint32_t clients) {
  if (!recipe.plan.sample_groups) return recipe.plan.sample_clients.of(clients);
  const Amount& groups = *recipe.plan.sample_groups;
  if (const double* const share = std::get_if<double>(&groups.value)) return *share * clients;
  const std::optional<std::uint32_t>& size = recipe.grouping.size ? recipe.grouping.size : recipe.grouping.min_size;
  return std::min<double>(clients, std::get<std::uint32_t>(groups.value) * (size ? *size : kMembers));
}

double mean_samples(const FederatedData& data) {
  const std::uint32_t asked = std::min(data.clients(), kAsked);
  double samples = 0;
  for (std::uint32_t k = 0; k < asked; ++k) samples += data.train_count({k});
  return asked > 0 ? samples / asked : 0.0;
}

// Of a network that cannot be made the run will say why.
double operations_per_sample(const Recipe& recipe, const FederatedData& data) {
  const auto network = make_network(recipe.model, data.shape(), data.classes(), fusion_of(recipe.local.objective));
  return network ? training_flops(**network) : 1.0;
}

}  // namespace

double expected_work(const Recipe& recipe, const FederatedData& data) {
  const double visit = recipe.local.steps ? static_cast<double>(*recipe.local.steps) * recipe.local.batch_size
                                          : recipe.local.epochs * mean_samples(data);
  const double visits = recipe.training.mode == "sequential" ? recipe.training.passes : recipe.training.group_rounds;
  const double samples = recipe.rounds * drawn_clients(recipe, data.clients()) * visits * visit;
  return std::max(1.0, samples) * operations_per_sample(recipe, data);
}

}  // namespace muster
