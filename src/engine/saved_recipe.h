// A resumed run keeps its recipe: what recipe.toml says now against what the run began with.
#pragma once

#include <filesystem>
#include <string>

#include "recipe/recipe.h"

namespace muster {

// Whether a run that was saved with the recipe `saved`, as format_recipe() writes it, may go on as `now`. The error
// names the first key that differs, of those that must not.
[[nodiscard]] Status check_same_recipe(const std::string& saved, const Recipe& now);

// The same against the newest checkpoint of the folder that can be read, before anything else is made of the recipe;
// passes without one.
[[nodiscard]] Status check_saved_recipe(const std::filesystem::path& checkpoints, const Recipe& now);

}  // namespace muster
