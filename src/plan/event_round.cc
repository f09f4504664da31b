// Groups are formed once, after a given round.
#include "plan/regroup_event.h"

namespace muster {
namespace {

class RoundEvent final : public RegroupEvent {
 public:
  using RegroupEvent::RegroupEvent;

  const EventEntry& entry() const override { return round_event_entry(); }
  // It may come later than its round: if too few took part there was nothing to form groups from.
  bool happened(const RoundsSoFar& so_far) const override { return so_far.round >= earliest(); }
};

}  // namespace

const EventEntry& round_event_entry() {
  static const EventEntry entry{
      .name = "round", .summary = "once, after round regroup-round", .keys = {"regroup-round"}};
  return entry;
}

std::unique_ptr<RegroupEvent> make_round_event(std::uint32_t earliest) {
  return std::make_unique<RoundEvent>(earliest);
}

}  // namespace muster
