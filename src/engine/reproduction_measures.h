// Measures: the numbers that papers report of a run, by name, each taken from the files that the run left.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace muster {

// Nothing of none.
[[nodiscard]] std::optional<double> mean_of(const std::vector<double>& values);

// What is measured of a round. Papers' runs have thousands of them: only numbers are kept.
struct MeasuredRound {
  std::optional<double> accuracy;
  std::optional<double> loss;
  double covered = 1;  // share of the clients' test samples behind the accuracy
  std::optional<double> discrepancy;
  std::optional<double> loss_variance;
  std::optional<double> epochs;      // while they are adapted: the mean of the clients that take part
  std::optional<double> epochs_few;  // and of those among them that have fewer samples than their mean
  double bytes = 0;                  // both ways
  double compute_s = 0;              // simulated
  double comm_s = 0;
  double cost_total_s = 0;  // since the run began
};

// A finished run as its folder has it.
struct MeasuredRun {
  std::filesystem::path folder;
  nlohmann::json summary;
  std::vector<MeasuredRound> rounds;
  // Of the last time that groups were formed.
  std::optional<double> clusters;
  std::optional<double> clusters_right;  // clients in the right one, where clusters are planted
  // Mean distances of clients of the same planted cluster and of different ones, where they are recorded.
  std::optional<double> distance_within;
  std::optional<double> distance_between;
  // The round of the last event that formed groups; without events, that in which groups last changed.
  std::optional<double> clusters_round;
};
// Fails, naming the file, if the folder does not hold a whole run.
[[nodiscard]] Result<MeasuredRun> read_measured_run(const std::filesystem::path& folder);

struct MeasureOptions {
  std::optional<double> target;  // accuracy to reach, a share
  std::uint32_t last = 1;        // evaluations at the end
  std::optional<double> cost_s;  // evaluations that cost more do not count
};

struct Measure {
  std::string_view name;
  std::string_view summary;
  bool needs_target = false;
  // None = the run has no such number; infinity = the target was never reached.
  std::optional<double> (*of)(const MeasuredRun& run, const MeasureOptions& options) = nullptr;
};
[[nodiscard]] std::span<const Measure> measures();
// Null if there is none.
[[nodiscard]] const Measure* find_measure(std::string_view name);

// The mean accuracy of the last `count` evaluations, a share; none without evaluations.
[[nodiscard]] std::optional<double> accuracy_at_the_end(const MeasuredRun& run, std::uint32_t count);

}  // namespace muster
