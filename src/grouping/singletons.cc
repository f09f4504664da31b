// Every client is its own group, in id order: the grouping of the classic single-model algorithms.
#include <algorithm>

#include "grouping/grouping.h"

namespace muster {

bool forms_singletons(const GroupingOptions& options) {
  const std::vector<GrouperEntry> methods = groupers();
  const auto method = std::ranges::find(methods, options.method, &GrouperEntry::name);
  return method != methods.end() && method->alone;
}

Grouping group_singletons(const GroupingInput& input) {
  Grouping grouping;
  grouping.reserve(static_cast<std::uint32_t>(input.samples.size()));
  for (std::uint32_t k = 0; k < input.samples.size(); ++k) {
    const ClientId client{k};
    if (input.samples[k] > 0) {
      grouping.add({&client, 1});
    } else {
      grouping.add_idle(client);
    }
  }
  return grouping;
}

}  // namespace muster
