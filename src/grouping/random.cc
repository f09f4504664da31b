// Groups drawn at random: of `size` clients each, where whoever is left over stays idle; or filled from a shuffled list
// until they have enough samples or clients, where nobody stays idle (the random grouping of FedSeq).
#include <numeric>

#include "grouping/groupers.h"
#include "grouping/sample_quota.h"

namespace muster {

Status check_random(const GroupingOptions& options, const KnownAhead&) {
  const bool quota = options.min_samples || options.max_clients;
  if (options.size && quota) {
    return usage_error("grouping.size: {}, but grouping.{} is set too; want size, or min-samples and max-clients",
                       *options.size, options.min_samples ? "min-samples" : "max-clients");
  }
  if (!options.size && !quota) {
    return usage_error("grouping.size: not set, want clients per group; or set min-samples and max-clients instead");
  }
  return {};
}

Result<Draft> group_random(const GroupingOptions& options, const GroupingInput& input, const GroupingCall& call) {
  const auto clients = static_cast<std::uint32_t>(input.samples.size());
  std::vector<std::uint32_t> order(clients);
  std::iota(order.begin(), order.end(), 0u);
  Stream stream = grouping_stream(call);
  stream.shuffle(std::span(order));
  if (!options.size) {
    MUSTER_ASSIGN(const SampleQuota quota, chosen_quota(options));
    auto next = order.begin();
    return fill_groups(quota, input.samples, [&](std::span<const std::uint32_t>) { return *next++; });
  }
  MUSTER_ASSIGN(const std::uint32_t size, chosen_number("size", options.size));
  Draft draft;
  if (size > clients) {
    draft.notes.push_back(too_few_clients("size", size, clients));
    return draft;
  }
  for (std::uint32_t begin = 0; clients - begin >= size; begin += size) {
    draft.groups.emplace_back(order.begin() + begin, order.begin() + begin + size);
  }
  return draft;
}

}  // namespace muster
