// AdaptiveEpochs: how long each client trains in the next round, from the losses of all rounds so far, so that clients
// with few samples catch up with the one that has most (AutoCFL, Eq. 8). Also keeps the summed losses that tell when
// clients have drawn apart far enough to be grouped.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "record/checkpoint.h"
#include "solver/local_solver.h"

namespace muster {

class AdaptiveEpochs {
 public:
  // `samples`: training samples of each client. Clients without are left alone.
  AdaptiveEpochs(const LocalOptions& options, std::vector<std::uint32_t> samples);

  // Epochs of `client` in the coming round: its real-valued count, rounded as the options say; at least 1 if rounded.
  [[nodiscard]] double epochs(ClientId client) const;
  // Back to what all began with, for good.
  void freeze();

  // One round: the loss of each client that took part after its training, then end_round(). A client that did not take
  // part keeps its epochs and its sum.
  void add_loss(ClientId client, double loss);
  void end_round();

  // Variance over clients of their summed losses, one entry per round.
  [[nodiscard]] std::span<const double> variances() const { return variances_; }

  void save(Checkpoint& checkpoint) const;
  [[nodiscard]] Status restore(const Checkpoint& checkpoint);

 private:
  LocalOptions options_;
  std::vector<std::uint32_t> samples_;
  std::uint32_t largest_ = 0;   // the client with most samples; ties to the lowest
  std::vector<double> epochs_;  // real-valued
  std::vector<double> summed_;  // loss over all rounds; NaN = never took part
  std::vector<double> last_;    // loss of the last round it took part in
  std::vector<double> variances_;
  bool frozen_ = false;
};

}  // namespace muster
