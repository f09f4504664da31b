// AdaptiveEpochs: how long each client trains in the next round, from the losses of all rounds so far, so that clients
// with few samples catch up with the one that has most (AutoCFL, Eq. 8).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "engine/loss_history.h"
#include "engine/round_observer.h"
#include "solver/local_options.h"

namespace muster {

// How real-valued epochs become what is trained.
enum class EpochRounding { kRound, kCeil, kFractional };

class AdaptiveEpochs final : public RoundObserver {
 public:
  // `samples`: training samples of each client; clients without are left alone. `losses` is borrowed, and observes each
  // round before this does.
  AdaptiveEpochs(const LocalOptions& options, std::vector<std::uint32_t> samples, const LossHistory& losses);

  // Sets the epochs of every member.
  void prepare(RoundTasks& tasks) override;
  // Records them, and adapts those of the next round. Nothing is recorded of frozen ones.
  void end(const Models& models, RoundRecord& record) override;

  // Epochs of `client` in the coming round: its real-valued count, rounded as the options say; at least 1 if rounded.
  [[nodiscard]] double epochs(ClientId client) const;
  // Back to what all began with, for good.
  void freeze();

  void save(Checkpoint& checkpoint) const override;
  [[nodiscard]] Status restore(const Checkpoint& checkpoint) override;

 private:
  // What a round that lags adds, to the power of rho.
  [[nodiscard]] double growth_base(ClientId client) const;
  // None if nobody takes part.
  [[nodiscard]] std::optional<EpochFigures> figures(const RoundTasks& tasks) const;

  double base_epochs_;
  double growth_;
  double tolerance_;
  EpochRounding rounding_;
  std::vector<std::uint32_t> samples_;
  const LossHistory& losses_;
  ClientId largest_;            // the client with most samples; ties to the lowest
  std::vector<double> epochs_;  // real-valued
  bool frozen_ = false;
  std::optional<EpochFigures> asked_;  // of the round that is being trained
};

}  // namespace muster
