// What a recipe is made of: the methods it starts from (`base`), the task it runs on (`task`), and its own keys. Each
// may be built in or a file, and may start from another of its kind.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "recipe/recipe.h"

namespace muster {

// A text whose keys hold where no later layer has them.
struct RecipeLayer {
  GivenKey::By by = GivenKey::By::kFile;
  std::string toml;
  std::string origin;            // for errors
  std::filesystem::path folder;  // relative paths are looked up here first
  bool built_in = false;
};

struct Composition {
  std::vector<RecipeLayer> layers;  // bases, then tasks, then the recipe's own text; each kind from the root on
  std::string task;                 // its name; "" = the recipe runs on data of its own
};

// `task`, where it is not empty, takes the place of what the text names. A text that starts from a built-in method and
// names no task runs on default_task().
[[nodiscard]] Result<Composition> compose(RecipeLayer text, const std::string& task);
// The same for a recipe by its name or path: a built-in method is a base, anything else a text.
[[nodiscard]] Result<Composition> compose_named(const std::string& name_or_path, const std::string& task);
// A recipe by its name or path on layers of one's own: bases hold after the recipe's keys, tasks after all bases, each
// in the order given. A task may start from another.
[[nodiscard]] Result<Composition> compose_on(const std::string& name_or_path, std::span<const RecipeLayer> layers);
[[nodiscard]] Result<Recipe> load_recipe_on(const std::string& name_or_path, std::span<const RecipeLayer> layers);

// The top-level keys that name them; no field of a recipe keeps them.
[[nodiscard]] bool names_a_layer(std::string_view key);

// A share of whatever the method draws: stands for plan.sample-groups or plan.sample-clients, so that one task fits
// both kinds of methods.
inline constexpr std::string_view kParticipation = "plan.participation";

// Keys that a recipe may have and that others take the place of once it is read.
[[nodiscard]] std::vector<RecipeKey> composing_keys();

}  // namespace muster
