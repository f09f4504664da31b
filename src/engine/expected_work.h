// How long a run will take compared with another one on the same data: enough to begin with the longest.
#pragma once

#include "data/federated_data.h"
#include "recipe/recipe.h"

namespace muster {

// Samples that all rounds train on, about; groups are not known yet. > 0.
[[nodiscard]] double expected_work(const Recipe& recipe, const FederatedData& data);

}  // namespace muster
