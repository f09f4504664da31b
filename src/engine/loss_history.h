// LossHistory: the losses that clients reported after training, over all rounds so far, and how far they have drawn
// apart (AutoCFL). A client that was absent counts with its mean over the rounds it took part in: sums over different
// numbers of rounds would not compare.
#pragma once

#include <span>
#include <vector>

#include "engine/round_observer.h"

namespace muster {

class LossHistory final : public RoundObserver {
 public:
  explicit LossHistory(std::uint32_t clients);

  bool wants_losses(std::uint32_t) const override { return true; }
  void prepare(RoundTasks& tasks) override;
  void group(const GroupUpdate& update) override;
  void end(const Models& models, RoundRecord& record) override;

  // What the client's losses add up to, as if it had taken part in every round so far; NaN = it never did.
  [[nodiscard]] double summed(ClientId client) const;
  // In the last round that it took part in; NaN = none.
  [[nodiscard]] double last(ClientId client) const { return last_[client.value]; }
  // Variance over clients of summed(), one entry per round.
  [[nodiscard]] std::span<const double> variances() const { return variances_; }

  void save(Checkpoint& checkpoint) const override;
  [[nodiscard]] Status restore(const Checkpoint& checkpoint) override;

 private:
  std::uint32_t rounds_ = 0;
  std::vector<double> sums_;
  std::vector<double> counts_;  // rounds that the client took part in; whole numbers
  std::vector<double> last_;
  std::vector<double> variances_;
};

}  // namespace muster
