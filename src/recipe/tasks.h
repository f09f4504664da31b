// Tasks: what methods are compared on. A method is profile, grouping, plan, training, objective, aggregation and
// newcomers; a task is everything else: data, model, local work, evaluation, rounds, faults, cost.
#pragma once

#include <span>
#include <string_view>

#include "recipe/recipe.h"

namespace muster {

// Whether the key is the task's: two methods can be compared only where all of these are equal.
[[nodiscard]] bool belongs_to_task(const RecipeKey& key);

struct BuiltInTask {
  std::string_view name;
  std::string_view toml;
};
[[nodiscard]] std::span<const BuiltInTask> built_in_tasks();

// What built-in methods run on where no task is named.
inline constexpr std::string_view kDefaultTask = "fashion-dirichlet";

}  // namespace muster
