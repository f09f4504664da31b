// What the constants of a cost model are where a recipe does not set them.
#pragma once

#include <string>

#include "cost/cost.h"

namespace muster {

// The options with the constants that were measured for the task and the objective, where those are not set. What is
// the network's own stays unset.
[[nodiscard]] CostOptions with_defaults(CostOptions options, const std::string& objective);

}  // namespace muster
