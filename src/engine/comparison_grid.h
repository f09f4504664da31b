// The points of a grid: every combination of values of the keys that mean something for a recipe.
#pragma once

#include <string>
#include <vector>

#include "engine/comparison.h"

namespace muster {

// Reads "key=a,b,c"; commas in brackets or quotes do not separate. Fails if the key is unknown, or belongs to the task
// in a way that would give methods different data, models or tests.
[[nodiscard]] Result<GridKey> parse_grid_key(const std::string& text);

// Takes out the keys that mean nothing for the recipe, with a note each.
[[nodiscard]] std::vector<GridKey> keys_that_apply(const std::vector<GridKey>& grid, const Recipe& recipe,
                                                   const std::string& label, std::vector<std::string>& notes);

// All points, each a list of settings, the first key slowest; without keys one point without settings.
[[nodiscard]] std::vector<std::vector<std::string>> grid_points(const std::vector<GridKey>& grid);

}  // namespace muster
