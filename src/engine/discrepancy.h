// Discrepancy: how far the models that a round's participants send are from the model they are merged into, on average
// (FedGroup, Eq. 4, measured right after training). It grows with the difference between clients' data.
#pragma once

#include "base/ids.h"
#include "base/rows.h"
#include "engine/round_observer.h"

namespace muster {

// Keeps every model of the round: the distances can only be taken when the merged model is known.
class Discrepancy final : public RoundObserver {
 public:
  // `parameters`: how many of a model's numbers count.
  explicit Discrepancy(std::size_t parameters) : parameters_(parameters) {}

  bool wants_members(std::uint32_t) const override { return true; }
  void prepare(RoundTasks&) override;
  void member(const GroupUpdate& update, std::span<const float> start) override;
  // The mean distance to the merged model of each sender's group; not set if nobody sent anything.
  void end(const Models& models, RoundRecord& record) override;

 private:
  std::size_t parameters_;
  std::vector<GroupId> groups_;  // of each row
  Rows<float> models_;
};

}  // namespace muster
