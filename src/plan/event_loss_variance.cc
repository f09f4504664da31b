// Groups are formed once, when the clients' losses have drawn apart (AutoCFL).
#include "plan/regroup_event.h"

namespace muster {
namespace {

class LossVarianceEvent final : public RegroupEvent {
 public:
  using RegroupEvent::RegroupEvent;

  const EventEntry& entry() const override { return loss_variance_event_entry(); }
  bool needs_losses() const override { return true; }
  bool happened(const RoundsSoFar& so_far) const override {
    return variance_says_group(so_far.loss_variances, earliest());
  }
};

}  // namespace

const EventEntry& loss_variance_event_entry() {
  // In earlier rounds the models of large and small clients differ by how long they trained, not by their data.
  static const EventEntry entry{
      .name = "loss-variance",
      .summary = "once, when the variance of the clients' summed losses has risen twice in a row (AutoCFL)",
      .keys = {"regroup-round"},
      .earliest = 3};
  return entry;
}

std::unique_ptr<RegroupEvent> make_loss_variance_event(std::uint32_t earliest) {
  return std::make_unique<LossVarianceEvent>(earliest);
}

}  // namespace muster
