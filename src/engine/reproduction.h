// A reproduction: the runs behind a target, what is measured of them, and the paper's numbers beside it. Runs that are
// there already are not run again, whichever target they were run for.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "engine/reproduction_plan.h"
#include "engine/reproduction_target.h"

namespace muster {

class Ranks;

struct ReproductionOptions {
  std::uint32_t threads = 0;                     // of each rank; 0 = all cores
  std::filesystem::path out = "runs/reproduce";  // runs, and results below it
  bool quiet = false;                            // no progress on stderr
  const std::atomic<bool>* interrupt = nullptr;  // as in SimulationOptions
  std::function<void(const std::string&)> say;   // notes for people
  Ranks* ranks = nullptr;                        // as in SweepOptions
};

struct ReproducedCell {
  std::string block;
  std::string row;
  std::string column;
  std::string unit;
  int digits = 2;
  std::optional<double> ours;       // mean over seeds; infinity = never reached
  std::optional<double> deviation;  // of the sample; none of one seed
  std::optional<double> paper;      // infinity = never reached
  bool comparable = true;           // false: it is measured otherwise than in the paper
  std::string setting_note;         // what stands in for the paper's data
  std::string note;                 // of this cell
};

// Ours less the paper's; none where one of them is missing or they are not comparable.
[[nodiscard]] std::optional<double> difference(const ReproducedCell& cell);

struct Reproduction {
  std::string target;
  std::string title;
  std::string says;
  std::string remark;
  std::string scale;
  std::string date;                   // of the last run, "2026-01-31"
  std::vector<std::string> differs;   // from the paper's setting
  std::vector<std::string> left_out;  // blocks and rows that are no part of the scale
  std::vector<ReproducedCell> cells;
  bool interrupted = false;  // then there are no cells
  std::size_t finished_runs = 0;
  std::size_t all_runs = 0;
  std::size_t ran = 0;  // by this call; the others were there
};

[[nodiscard]] Result<Reproduction> reproduce(const Target& target, Scale scale, const ReproductionOptions& options);

// About how long all runs of a target take on this machine, if none is there yet. Reads data and trains a few steps.
struct ExpectedTime {
  std::size_t runs = 0;
  double seconds = 0;
  bool complete = true;  // false: some cannot be told before they begin
};
[[nodiscard]] Result<ExpectedTime> expected_time(const Target& target, Scale scale, std::uint32_t threads);

// Where reproduce() leaves its result: <out>/results/<target>-<scale>.json.
[[nodiscard]] std::filesystem::path result_file(const std::filesystem::path& out, const std::string& target,
                                                Scale scale);

// One line of JSON; field names are those of the public contract. Numbers that are not finite become null.
[[nodiscard]] std::string to_json(const Reproduction& reproduction);
// What to_json() wrote.
[[nodiscard]] Result<Reproduction> read_reproduction(const std::filesystem::path& file);

}  // namespace muster
