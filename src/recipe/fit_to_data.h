// A built-in recipe meets a user's own data. Numbers and networks that were chosen for the recipe's own data set, and
// cannot work with the user's, are replaced by ones that can. What the user set is never touched.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "data/samples.h"
#include "recipe/facts.h"
#include "recipe/recipe.h"

namespace muster {

// Whether the user gave the key: by a setting, or in a file of their own that starts from a built-in method.
[[nodiscard]] bool set_by_user(const Recipe& recipe, std::string_view key);
// Whether the user replaced the recipe's data by files of their own.
[[nodiscard]] bool brings_own_data(const Recipe& recipe);

// Changes what check_recipe_for() and make_network() would refuse, as far as it goes, and says so, a note for each
// change; the first note names the keys of the recipe's file that gave way when the data were set. Does nothing unless
// brings_own_data(). What it cannot mend is left for check_recipe_for() to refuse.
[[nodiscard]] std::vector<std::string> fit_to_own_data(Recipe& recipe, const RecipeFacts& facts, Shape shape);

// A recipe meets the data of its run: what does not fit the user's own is fitted, what cannot work is refused, and what
// the recipe leaves to the data (partition, number of clients, tests, normalisation, what is evaluated) and to the
// methods it names (method_defaults.h) is filled in: the same run comes of the settled recipe. Returns what the user
// should know, a line each. Precondition: check_recipe() passes.
[[nodiscard]] Result<std::vector<std::string>> settle_recipe(Recipe& recipe, const FederatedData& data);

}  // namespace muster
