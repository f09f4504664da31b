// What a recipe leaves to the methods it names, written down: every key that has an effect is set to the method's own
// value, so that the recipe says all that shapes the result. Knows nothing of data but the number of classes.
#pragma once

#include <cstdint>

#include "recipe/recipe.h"

namespace muster {

// Sets keys that are not set, that have an effect, and that a method has a value of its own for. The same run comes of
// it. Keys whose absence is the meaning (no target, no noise, groups for ever) stay unset, and so does what goes by the
// network or the groups that will be formed. `classes`: of the data; 0 = not known.
void fill_in_defaults(Recipe& recipe, std::uint32_t classes);

// What has been set since `before`, though it has no effect, is unset again.
void unset_without_effect(Recipe& recipe, const Recipe& before);

}  // namespace muster
