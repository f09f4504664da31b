// ComparisonTable: the figures of a comparison, one entry per method: means and deviations over seeds, what it took to
// reach targets, and the methods against each other. Values only; comparison_text.h and comparison_json.h write them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/comparison.h"
#include "engine/paired_difference.h"

namespace muster {

// Over the seeds that have a value.
struct SeedSpread {
  std::uint32_t seeds = 0;
  std::optional<double> mean;       // none without any
  std::optional<double> deviation;  // of the sample, so none of one seed
};

// What it took until an evaluation first reached the accuracy, over the seeds that did.
struct TargetFigures {
  double accuracy = 0;
  std::uint32_t reached = 0;  // seeds
  SeedSpread rounds;
  SeedSpread bytes;   // both ways
  SeedSpread cost_s;  // simulated
};

struct GridFigures {
  std::vector<std::string> settings;
  std::optional<double> validation;
  SeedSpread last;  // on the tests; nothing was chosen by it
  std::vector<std::string> runs;
};

struct MethodFigures {
  std::string label;
  std::vector<std::string> settings;  // the point of the grid that was chosen
  std::vector<std::string> runs;      // ids, by seed
  std::vector<std::string> signatures;
  SeedSpread last;
  SeedSpread best;
  SeedSpread tail;  // mean of the last evaluations of each run
  SeedSpread wall_s;
  std::vector<std::optional<double>> last_of_seed;
  std::uint32_t diverged = 0;  // seeds
  std::vector<TargetFigures> to_target;
  std::vector<GridFigures> grid;  // empty where there was nothing to choose
};

struct MethodDifference {
  std::string a;
  std::string b;
  PairedDifference of_last;  // accuracy of a less that of b
};

struct ComparisonTable {
  std::string task;
  std::string command;  // that makes it again; "" = not told
  std::vector<std::uint64_t> seeds;
  std::uint32_t tail = 0;  // evaluations that MethodFigures::tail is of
  std::vector<MethodFigures> methods;
  std::vector<MethodDifference> differences;  // every pair; b is the one that was given first
  std::vector<std::string> notes;
};

struct ComparisonTableOptions {
  std::string task;
  std::string command;
  // Empty: half, 80 %, 95 % and all of what the first method reaches in the end, in the mean over seeds, rounded down
  // to hundredths of a per cent; a note says so.
  std::vector<double> targets;
  std::uint32_t tail = 10;  // evaluations; >= 1
};

// Precondition: the comparison was not interrupted and has a row.
[[nodiscard]] ComparisonTable tabulate(const Comparison& comparison, const ComparisonTableOptions& options);

[[nodiscard]] SeedSpread spread_of(const std::vector<std::optional<double>>& values);

}  // namespace muster
