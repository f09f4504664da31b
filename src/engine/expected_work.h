// How long a run will take compared with others: enough to begin with the longest, and to tell the time left.
#pragma once

#include "data/federated_data.h"
#include "recipe/recipe.h"

namespace muster {

// Operations of training in all rounds, about; groups are not known yet. > 0.
[[nodiscard]] double expected_work(const Recipe& recipe, const FederatedData& data);

}  // namespace muster
