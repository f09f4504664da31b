// After every round each group may be split in two, where the grouping method finds that its updates disagree (CFL).
#include "plan/regroup_event.h"

namespace muster {
namespace {

class BipartitionEvent final : public RegroupEvent {
 public:
  using RegroupEvent::RegroupEvent;

  const EventEntry& entry() const override { return bipartition_event_entry(); }
  bool happened(const RoundsSoFar& so_far) const override { return so_far.round >= earliest(); }
};

}  // namespace

const EventEntry& bipartition_event_entry() {
  // Sattler's CFL lets the first rounds pass, in which all updates are long.
  static const EventEntry entry{.name = "bipartition",
                                .summary = "whenever a group's mean update is short and a member's long (CFL)",
                                .keys = {"regroup-round", "calibrate-round"},
                                .earliest = 20,
                                .splits = true};
  return entry;
}

std::unique_ptr<RegroupEvent> make_bipartition_event(std::uint32_t earliest) {
  return std::make_unique<BipartitionEvent>(earliest);
}

}  // namespace muster
