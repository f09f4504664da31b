// Groups of `size` clients drawn at random; what does not fill a group stays idle.
#include <numeric>

#include "grouping/groupers.h"

namespace muster {

Status check_random(const GroupingOptions&, const KnownAhead&) {
  return {};
}

Result<Draft> group_random(const GroupingOptions& options, const GroupingInput& input, const GroupingCall& call) {
  const auto clients = static_cast<std::uint32_t>(input.samples.size());
  MUSTER_ASSIGN(const std::uint32_t size, chosen_number("size", options.size, 5u));
  Draft draft;
  if (size > clients) {
    draft.notes.push_back(too_few_clients("size", size, clients));
    return draft;
  }
  std::vector<std::uint32_t> order(clients);
  std::iota(order.begin(), order.end(), 0u);
  Stream stream = grouping_stream(call);
  stream.shuffle(std::span(order));
  for (std::uint32_t begin = 0; begin + size <= clients; begin += size) {
    draft.groups.emplace_back(order.begin() + begin, order.begin() + begin + size);
  }
  return draft;
}

}  // namespace muster
