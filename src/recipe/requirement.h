// What a client asks of a recipe before it takes part: that a key says what its owner wants.
#pragma once

#include <string>

#include "recipe/recipe.h"

namespace muster {

// `wanted`: "section.key=value", as for apply_setting(). Whether there is such a key and value.
[[nodiscard]] Status check_requirement(const std::string& wanted);
// Fails, with both values, if the recipe says otherwise. Precondition: check_requirement() passes.
[[nodiscard]] Status meet_requirement(const Recipe& recipe, const std::string& wanted);

}  // namespace muster
