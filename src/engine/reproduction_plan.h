// ReproductionPlan: the runs behind a target at a scale, before any of them begins: which data there are, what every
// row is run with, and in what that differs from the paper.
#pragma once

#include <string>
#include <vector>

#include "engine/reproduction_target.h"
#include "recipe/recipe.h"

namespace muster {

struct PlannedRun {
  std::size_t block = 0;
  std::size_t row = 0;
  std::string setting;
  std::string label;  // for errors and folders
  Recipe recipe;      // with its seed
};

struct ReproductionPlan {
  std::vector<PlannedRun> runs;
  std::vector<bool> blocks;              // that are part of the scale
  std::vector<bool> rows;                // likewise
  std::vector<std::string> row_notes;    // why nothing can be run for a row; "" = it can
  std::vector<std::string> block_notes;  // what stands in for the paper's data; "" = nothing
  std::vector<std::string> differs;      // from the paper's setting, a line for settings that differ in the same
  std::vector<std::string> left_out;     // blocks and rows that are no part of the scale
};

// Fails if a row cannot be run in a setting. A row whose method does not exist is left out.
[[nodiscard]] Result<ReproductionPlan> plan_reproduction(const Target& target, Scale scale);

// Methods of rows that do not exist, each once.
[[nodiscard]] std::vector<std::string> missing_methods(const Target& target);

}  // namespace muster
