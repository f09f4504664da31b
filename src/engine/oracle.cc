#include "engine/oracle.h"

#include <algorithm>

#include "base/random.h"

namespace muster {
namespace {

// Groups that enter the quality figures; of more groups this many are drawn.
constexpr std::uint32_t kJudgedGroups = 1000;

}  // namespace

Oracle::Oracle(const FederatedData& data, std::uint64_t seed) : data_(data), seed_(seed) {
  for (std::uint32_t k = 0; k < data.clients(); ++k) {
    const std::optional<std::uint32_t> cluster = data.planted_cluster({k});
    if (!cluster) {
      clusters_.clear();
      break;
    }
    clusters_.push_back(*cluster);
  }
}

GroupQuality Oracle::quality(const Grouping& grouping) const {
  Stream stream({.seed = seed_, .purpose = Purpose::kGrouping, .part = 1});
  Rows<std::uint64_t> counts(std::min(grouping.count(), kJudgedGroups), data_.classes());
  std::uint32_t judged = 0;
  for (const std::uint32_t g : stream.sample(grouping.count(), counts.count())) {
    const std::span<std::uint64_t> sums = counts.row(judged++);
    for (const ClientId client : grouping.members({g})) {
      const std::vector<std::uint32_t> own = data_.label_counts(client);
      for (std::size_t c = 0; c < sums.size(); ++c) sums[c] += own[c];
    }
  }
  return judge_groups(counts);
}

std::optional<Agreement> Oracle::truth(const Grouping& grouping) const {
  if (clusters_.empty() || grouping.count() > kJudgedGroups) return std::nullopt;
  return agreement(grouping, clusters_);
}

}  // namespace muster
