// RunTotals: what a run has summed up so far. Saved by name in checkpoints, so that a resumed run ends with the same.
#pragma once

#include <cstdint>
#include <optional>

#include "cost/cost.h"
#include "record/checkpoint.h"

namespace muster {

struct RunTotals {
  std::optional<double> accuracy_last;
  std::optional<double> accuracy_best;
  std::uint32_t best_round = 0;       // 0 = there is no best yet
  std::uint32_t evaluated_round = 0;  // of accuracy_last and loss_last
  std::optional<double> loss_last;
  std::optional<std::uint32_t> target_round;
  double compute_s = 0;  // simulated
  double comm_s = 0;     // simulated
  std::uint64_t bytes_up = 0;
  std::uint64_t bytes_down = 0;
  LinkBytes links;
  std::uint64_t samples_trained = 0;
  std::uint64_t sums = 0;            // secure ones, begun
  std::uint64_t sums_abandoned = 0;  // of them
  double wall_s = 0;   // all of the run, of which
  double setup_s = 0;  // before the first round: reading data, checking, resuming
  double profile_s = 0;
  double train_s = 0;
  double eval_s = 0;
  double group_s = 0;

  [[nodiscard]] double cost_s() const { return compute_s + comm_s; }
  // Clients may also train for their profiles.
  [[nodiscard]] double samples_per_s() const {
    const double seconds = train_s + profile_s;
    return seconds > 0 ? static_cast<double>(samples_trained) / seconds : 0.0;
  }

  void save(Checkpoint& checkpoint) const;
  // On failure, which names what is wrong, the totals are partly overwritten.
  [[nodiscard]] Status restore(const Checkpoint& checkpoint);
};

}  // namespace muster
