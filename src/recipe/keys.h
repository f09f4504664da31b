// The one declaration of every recipe key: what it is called, which field it sets, what it may be, what it means, and
// when it means anything. Reading, writing, checking, listing and the documentation are generic over these rows.
#pragma once

#include <toml++/toml.h>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "recipe/recipe.h"

namespace muster {

// Something without which a key has no effect.
struct Condition {
  std::function<bool(const Recipe&)> holds;
  std::function<std::string(const Recipe&)> found;  // where it does not hold: `with local.objective = "plain"`
  const char* verb;                                 // joins "it" and `wants`
  std::string wants;                                // `local.objective = "prox"`
  // Where the condition is that a key says one of some words: that key, and these words.
  std::string choice = {};
  std::vector<std::string> words = {};
};

struct Key {
  RecipeKey info;
  std::function<Status(Recipe&, const toml::node&)>
      set;                                        // errors say value and what is wanted; the caller adds the key
  std::function<std::string(const Recipe&)> get;  // as TOML; "" = not set
  std::function<void(Recipe&)> reset;             // to the default
  std::vector<Condition> conditions;              // all must hold
  // The key says the same thing in another way: whoever sets one of the two takes the other back.
  std::string instead_of;
};

// In the order in which recipes are written. A table that was handed out stays, also when a program adds a choice and
// the next one knows it.
[[nodiscard]] const std::vector<Key>& recipe_key_table();

[[nodiscard]] std::string full_name(const RecipeKey& key);
// By full name ("local.epochs"), or null.
[[nodiscard]] const Key* find_key(std::string_view name);

// The first condition that does not hold, or null: the key applies.
[[nodiscard]] const Condition* failing_condition(const Key& key, const Recipe& recipe);
// Why the key has no effect: `has no effect with local.objective = "plain"; it belongs to local.objective = "prox"`.
[[nodiscard]] std::string why_no_effect(const Condition& condition, const Recipe& recipe);

// What lost its meaning through something that was given after it goes back to its default; what has it again is set
// again. Settings stay as they are, and so does what never had a meaning in the recipe's own file.
void give_way(Recipe& recipe);

}  // namespace muster
