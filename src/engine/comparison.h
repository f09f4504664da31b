// A comparison: several methods on one task, with the same data, split and initial model for each seed. Rows, seeds and
// grids become runs of a sweep; what comes back is every run, and for each row the point of its grid that did best on
// validation samples. Tables are made of it elsewhere (engine/comparison_table.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/run_curve.h"
#include "engine/sweep.h"
#include "recipe/recipe.h"

namespace muster {

// A key and the values to try.
struct GridKey {
  std::string key;
  std::vector<std::string> values;  // not empty; as in a setting
};

// A method on the task, before its seed.
struct ComparisonRow {
  std::string label;  // unique, not empty
  Recipe recipe;
  std::vector<GridKey> grid = {};
  std::vector<std::string> own_keys = {};  // keys of the task in which it differs from the others on purpose
};

struct ComparisonOptions {
  std::vector<std::uint64_t> seeds = {1};
  SweepOptions sweep;  // all but `check`
};

// A point of a row's grid; the only one where there is none.
struct ComparedPoint {
  std::vector<std::string> settings;  // "local.learning-rate=0.05"
  std::vector<RunCurve> runs;         // by seed, as given
  // Mean over seeds of the validation accuracy of the models that the runs leave; none if one of them has none.
  std::optional<double> validation;
};

struct ComparedRow {
  std::string label;
  std::vector<ComparedPoint> points;  // first key slowest
  std::size_t chosen = 0;

  [[nodiscard]] const ComparedPoint& best() const { return points[chosen]; }
};

struct Comparison {
  std::vector<std::uint64_t> seeds;
  std::vector<ComparedRow> rows;   // as given; empty if it was interrupted
  std::vector<std::string> notes;  // that belong to the result
  bool interrupted = false;
  std::size_t finished_runs = 0;
  std::size_t all_runs = 0;
  std::size_t ran = 0;  // by this call; the others were there
};

// Refuses rows that differ in a key of the task, before anything runs. Where a row has a grid and the task sets no
// validation samples aside, all rows get `data.validation-fraction = 0.1`. A key that means nothing for a row is left
// out of its grid. Both are noted. Errors name the row.
[[nodiscard]] Result<Comparison> run_comparison(std::vector<ComparisonRow> rows, const ComparisonOptions& options);

// The point with the highest validation accuracy, the first of several; of points without one the first.
[[nodiscard]] std::size_t best_point(const std::vector<ComparedPoint>& points);

}  // namespace muster
