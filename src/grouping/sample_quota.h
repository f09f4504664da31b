// Groups that are filled until they have enough samples: the frame around methods that differ only in who comes next.
#pragma once

#include <functional>
#include <span>

#include "grouping/groupers.h"

namespace muster {

// A group is complete when its members have `min_samples` between them, or when it has `max_clients` members.
struct SampleQuota {
  std::uint64_t min_samples = 0;
  std::uint32_t max_clients = 0;
};
[[nodiscard]] Result<SampleQuota> chosen_quota(const GroupingOptions& options);

// Names the next client, given the members of the open group: none when it is opened. Never names a client twice.
using NextClient = std::function<std::uint32_t(std::span<const std::uint32_t> members)>;

// Fills one group after the other. If the last one stays incomplete, its members go to the others that have room, in
// turn, those with the fewest samples first; where they do not fit they stay together, and a note says so. No group,
// and a note, if there is no other. Every client is placed otherwise.
[[nodiscard]] Draft fill_groups(const SampleQuota& quota, std::span<const std::uint32_t> samples,
                                const NextClient& next);

}  // namespace muster
