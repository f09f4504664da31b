// Whether recipes are of one task: the same data, model, batches, rate, evaluation and rounds, so that what they reach
// is due to their methods.
#pragma once

#include <span>
#include <string>

#include "recipe/recipe.h"

namespace muster {

struct RowOfTask {
  std::string label;
  const Recipe* recipe;                   // borrowed
  std::span<const std::string> own_keys;  // in which it may differ
};

// The error names the first row and key that differ from the first row's, and both values. Seeds may differ, and a key
// that means nothing for one of two methods does not tell them apart.
[[nodiscard]] Status check_same_task(std::span<const RowOfTask> rows);

}  // namespace muster
