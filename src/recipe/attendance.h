// Who is there from the start, and who is asked before groups are formed: drawn from the seed alone, so that a recipe
// can be checked against those very clients before anything trains.
#pragma once

#include <cstdint>
#include <vector>

#include "base/ids.h"
#include "recipe/recipe.h"

namespace muster {

// Of `clients`, those that are not there before newcomers.round; ascending.
[[nodiscard]] std::vector<std::uint32_t> late_clients(const Recipe& recipe, std::uint32_t clients);

// Of the clients that are there with samples, those asked for the profiles that the groups of `round` are formed by.
[[nodiscard]] std::vector<ClientId> asked_clients(const Recipe& recipe, std::uint32_t round,
                                                  std::vector<ClientId> present);

}  // namespace muster
