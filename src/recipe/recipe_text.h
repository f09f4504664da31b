// The keys of a recipe.toml as text, also of one that this version would refuse: what is listed and compared of runs
// must not depend on what a recipe may have today.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/result.h"

namespace muster {

// "section.key" -> value. Strings are without quotes; lists and tables are on one line, as TOML has them.
[[nodiscard]] Result<std::map<std::string, std::string>> recipe_keys_of(std::string_view toml);

// A value as a user gives it with --set, in the same form: 0.50 is 0.5, "cnn" is cnn. What is no TOML is a word.
[[nodiscard]] std::string recipe_value(std::string_view given);

}  // namespace muster
