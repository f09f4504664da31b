// RunCurve: what a comparison needs of a run that is over, read back from its folder: where it ended, and what it had
// cost by the time of each evaluation.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace muster {

struct EvaluatedRound {
  std::uint32_t round = 0;
  double accuracy = 0;
  bool of_all = true;       // of all test samples, not only of some clients'
  std::uint64_t bytes = 0;  // both ways, since the run began
  double cost_s = 0;        // simulated, since the run began
};

struct RunCurve {
  std::string run;  // its id
  std::filesystem::path dir;
  std::uint64_t seed = 0;
  std::string signature;
  std::string initial_model;  // hash of the weights that it began with
  std::string stopped;        // as in summary.json
  std::uint32_t rounds = 0;
  std::optional<double> accuracy_last;  // of the models that the run leaves
  std::optional<double> accuracy_best;
  std::optional<double> validation;  // of the models that the run leaves
  double wall_s = 0;
  std::vector<EvaluatedRound> evaluations;  // ascending
};

// Nothing if the run is not over: its summary is missing, or says that it was interrupted. Fails if the folder holds
// something else than a whole run.
[[nodiscard]] Result<std::optional<RunCurve>> read_run_curve(const std::filesystem::path& folder);

}  // namespace muster
