// Participation: who took part in a round and who dropped, for the record and for each client's tally.
#pragma once

#include "base/compact_counts.h"
#include "engine/round_observer.h"

namespace muster {

class Participation final : public RoundObserver {
 public:
  explicit Participation(std::uint32_t clients) : trained_(clients), dropped_times_(clients) {}

  void prepare(RoundTasks&) override;
  void group(const GroupUpdate& update) override;
  // Adds to what the record has of the round before training: a client that told no profile and did not train either
  // is one drop, not two.
  void end(const Models& models, RoundRecord& record) override;

  [[nodiscard]] ClientTally tally(ClientId client) const {
    return {.trained = trained_[client.value], .dropped = dropped_times_[client.value]};
  }
  // How often each client was drawn, whether it answered or not; empty while nobody was.
  [[nodiscard]] std::vector<std::uint32_t> times_drawn() const;
  // Samples trained in the round that has just ended.
  [[nodiscard]] std::uint64_t samples_trained() const { return samples_trained_; }

  void save(Checkpoint& checkpoint) const override;
  [[nodiscard]] Status restore(const Checkpoint& checkpoint) override;

 private:
  // How often each client trained, and dropped.
  CompactCounts trained_;
  CompactCounts dropped_times_;
  // Of this round.
  std::uint32_t participants_ = 0;
  std::vector<Dropped> dropped_;
  std::uint64_t samples_trained_ = 0;
  double loss_sum_ = 0;
  double weight_ = 0;
};

}  // namespace muster
