#include "plan/regroup_event.h"

namespace muster {

const std::vector<EventEntry>& event_entries() {
  static const std::vector<EventEntry> entries{round_event_entry(), loss_variance_event_entry(),
                                               bipartition_event_entry()};
  return entries;
}

std::unique_ptr<RegroupEvent> make_regroup_event(const RegroupOptions& options) {
  if (options.on.empty()) return nullptr;
  const std::uint32_t earliest = earliest_event(options);
  if (options.on == round_event_entry().name) return make_round_event(earliest);
  if (options.on == loss_variance_event_entry().name) return make_loss_variance_event(earliest);
  return make_bipartition_event(earliest);
}

}  // namespace muster
