// Clusters of like clients, from which groups draw in turn: k-means on the clients' representers, then each group takes
// a random member of one cluster after the other, skipping clusters that are used up, until it has enough samples or
// clients. The next group goes on with the next cluster.
//
// The k-means grouping of FedSeq (Zaccone et al. 2022, Algorithm 2).
#include <algorithm>

#include "grouping/groupers.h"
#include "grouping/kmeans.h"
#include "grouping/representers.h"
#include "grouping/sample_quota.h"

namespace muster {

Status check_kmeans_deal(const GroupingOptions& options, const KnownAhead& ahead) {
  if (options.clusters || !ahead.vectors_only) return {};
  return usage_error("grouping.clusters: not set, want a number: vectors alone do not tell how many classes there are");
}

Result<Draft> group_kmeans_deal(const GroupingOptions& options, const GroupingInput& input, const GroupingCall& call) {
  MUSTER_ASSIGN(const SampleQuota quota, chosen_quota(options));
  MUSTER_TRY(check_kmeans_deal(options, {.vectors_only = input.labels.empty()}));
  const auto clients = static_cast<std::uint32_t>(input.samples.size());
  MUSTER_ASSIGN(const std::uint32_t wanted, chosen_number("clusters", options.clusters));
  const std::uint32_t clusters = std::min(wanted, clients);  // more would stay empty
  Stream starts = grouping_stream(call, 0);
  const KMeansResult found =
      k_means(representers(input), {.clusters = clusters, .max_iterations = 100, .restarts = 10}, starts);

  std::vector<std::vector<std::uint32_t>> members(clusters);
  for (std::uint32_t k = 0; k < found.cluster.size(); ++k) members[found.cluster[k]].push_back(k);
  std::erase_if(members, [](const auto& cluster) { return cluster.empty(); });
  Stream draws = grouping_stream(call, 1);
  std::size_t turn = 0;
  return fill_groups(quota, input.samples, [&](std::span<const std::uint32_t>) {
    std::vector<std::uint32_t>& cluster = members[turn];
    std::swap(cluster[draws.below(static_cast<std::uint32_t>(cluster.size()))], cluster.back());
    const std::uint32_t client = cluster.back();
    cluster.pop_back();
    if (cluster.empty()) {
      members.erase(members.begin() + static_cast<std::ptrdiff_t>(turn));  // the next cluster moves to this turn
    } else {
      ++turn;
    }
    if (turn == members.size()) turn = 0;
    return client;
  });
}

}  // namespace muster
