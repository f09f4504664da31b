// One row of the recipe's key table: what the key is, and how it is set and written. Internal to the engine.
#pragma once

#include <toml++/toml.h>

#include <functional>
#include <string>
#include <vector>

#include "recipe/recipe.h"

namespace muster {

struct Key {
  RecipeKey info;
  std::function<Status(const toml::node&)> set;  // errors say value and what is wanted; the caller adds the key
  std::function<std::string()> get;              // as TOML; "" = not set
};

// Rows bound to `recipe`, which must outlive them.
[[nodiscard]] std::vector<Key> recipe_key_table(Recipe& recipe);

}  // namespace muster
