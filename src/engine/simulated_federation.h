// A recipe's federation on the threads of this process: what a run trains with, and what a forecast measures.
#pragma once

#include <filesystem>
#include <memory>

#include "data/federated_data.h"
#include "recipe/recipe.h"
#include "train/local_federation.h"

namespace muster {

// Refuses what only clients with programs of their own can train.
[[nodiscard]] Status check_can_simulate(const Recipe& recipe);
// Of what they train: whether the file that it begins with can be used. Better known before anybody is waited for.
[[nodiscard]] Status check_first_model(const Recipe& recipe);

// `data` is borrowed; `spare`, of LocalFederationOptions, may be null. What clients remember goes to the folder
// `states` once there is too much of it. `secrets`: see LocalFederationOptions. Fails if the network does not fit the
// data. Precondition: check_recipe() and check_recipe_for() pass.
[[nodiscard]] Result<std::unique_ptr<LocalFederation>> make_simulated_federation(
    const Recipe& recipe, std::uint32_t threads, SpareCores* spare, const FederatedData& data,
    const std::filesystem::path& states, MemberSecrets secrets = {});

}  // namespace muster
