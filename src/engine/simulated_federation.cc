#include "engine/simulated_federation.h"

#include "recipe/attendance.h"

namespace muster {

Status check_can_simulate(const Recipe& recipe) {
  if (!is_external(recipe.model)) return {};
  return usage_error(
      "model.name: \"{}\" is trained by its clients' own programs and cannot be simulated; run it with `muster cloud` "
      "and such clients (docs/models.md)",
      recipe.model.name);
}

Status check_first_model(const Recipe& recipe) {
  if (is_external(recipe.model)) MUSTER_TRY(make_network(recipe.model, {}, 0));
  return {};
}

Result<std::unique_ptr<LocalFederation>> make_simulated_federation(const Recipe& recipe, std::uint32_t threads,
                                                                   SpareCores* spare, const FederatedData& data,
                                                                   const std::filesystem::path& states,
                                                                   MemberSecrets secrets) {
  MUSTER_ASSIGN(std::shared_ptr<const Network> network,
                make_network(recipe.model, data.shape(), data.classes(), fusion_of(recipe.local.objective)));
  MUSTER_ASSIGN(std::shared_ptr<const Attackers> attackers,
                make_attackers(recipe.attack, data.clients(), data.shape(), data.classes(), recipe.seed));
  return LocalFederation::make(
      data, network,
      {.threads = threads,
       .spare = spare,
       .seed = recipe.seed,
       .local = recipe.local,
       .augmentation = augmentation_of(recipe.data),
       .faults = recipe.faults,
       .training = recipe.training,
       .aggregation = recipe.aggregation,
       .privacy = recipe.dp,
       .profile = recipe.profile,
       .states = {.folder = states, .memory_limit_bytes = std::uint64_t{recipe.local.state_limit_mb} << 20},
       .attackers = std::move(attackers),
       .secrets = std::move(secrets),
       .late = late_clients(recipe, data.clients()),
       .late_round = recipe.newcomers.round.value_or(1)});
}

}  // namespace muster
