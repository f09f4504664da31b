// KnownRuns: the runs that a folder holds already, found by the recipe that they ran, whatever they are called.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "recipe/recipe.h"

namespace muster {

// Equal for recipes that give the same run: all that format_recipe() writes but `name` and `summary`; 16 hex digits.
[[nodiscard]] std::string recipe_hash(const Recipe& recipe);

class KnownRuns {
 public:
  // Reads the recipe of every run under `out`; a folder that is not there holds none.
  explicit KnownRuns(const std::filesystem::path& out);

  // Folders of runs of this recipe, as settle_recipe() leaves it; ascending by name.
  [[nodiscard]] std::vector<std::filesystem::path> of(const Recipe& recipe) const;

 private:
  std::multimap<std::string, std::filesystem::path> folders_;  // by recipe_hash()
};

}  // namespace muster
