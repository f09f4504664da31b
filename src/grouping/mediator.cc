// Groups of `size`, filled one after the other: next comes the client with whom the group's label counts are nearest to
// uniform, argmin_k KL((H + h_k) / sum || uniform), from the first member on. Clients that are left over form a last,
// smaller group, which is as valid as the others. Ties go to the lowest client; nothing is random.
//
// The rescheduling of Astraea (Duan et al. 2019).
#include <algorithm>
#include <limits>
#include <numeric>

#include "grouping/groupers.h"
#include "grouping/label_divergence.h"

namespace muster {

Result<Draft> group_mediator(const GroupingOptions& options, const GroupingInput& input, const GroupingCall&) {
  MUSTER_ASSIGN(const std::uint32_t size, chosen_number("size", options.size));
  const LabelDivergence divergence(input.labels);
  const SparseCounts clients(input.labels);
  std::vector<std::uint32_t> waiting(input.samples.size());  // ascending
  std::iota(waiting.begin(), waiting.end(), 0u);
  Draft draft;
  while (!waiting.empty()) {
    std::vector<std::uint32_t>& group = draft.groups.emplace_back();
    std::vector<std::uint64_t> counts(input.labels.width);
    std::int64_t sum = 0;
    std::uint64_t samples = 0;
    const auto sum_with = [&](std::uint32_t client) {
      std::int64_t with = sum;
      for (const auto& [label, count] : clients.row(client)) {
        with += divergence.x_log_x(counts[label] + count) - divergence.x_log_x(counts[label]);
      }
      return with;
    };
    while (group.size() < size && !waiting.empty()) {
      std::size_t best = 0;
      auto least = std::numeric_limits<std::int64_t>::max();
      for (std::size_t i = 0; i < waiting.size(); ++i) {
        const std::int64_t value = divergence.of(sum_with(waiting[i]), samples + clients.samples[waiting[i]]);
        if (value >= least) continue;
        least = value;
        best = i;
      }
      const std::uint32_t client = waiting[best];
      sum = sum_with(client);
      samples += clients.samples[client];
      for (const auto& [label, count] : clients.row(client)) counts[label] += count;
      group.push_back(client);
      waiting.erase(waiting.begin() + static_cast<std::ptrdiff_t>(best));
    }
  }
  return draft;
}

}  // namespace muster
