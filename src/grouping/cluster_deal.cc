// Clusters of clients with like label counts, dealt out so that every group gets some of each: there are as many groups
// as can have `min-size` members, and as many clusters as a group has members. Clients go to groups in turn, cluster
// after cluster and by id within each; the turn goes on from one cluster to the next, so sizes differ by one at most.
// Nothing is random.
//
// The grouping of OUEA (Mhaisen et al. 2022) as published with Group-FEL, which starts every cluster at the first
// group: there early groups grow large and late ones too small to keep.
#include <algorithm>

#include "grouping/groupers.h"
#include "grouping/kmeans.h"

namespace muster {

Result<Draft> group_cluster_deal(const GroupingOptions& options, const GroupingInput& input, const GroupingCall&) {
  const auto clients = static_cast<std::uint32_t>(input.samples.size());
  MUSTER_ASSIGN(const std::uint32_t min_size, chosen_number("min-size", options.min_size));
  Draft draft;
  if (min_size > clients) {
    draft.notes.push_back(too_few_clients("min-size", min_size, clients));
    return draft;
  }
  const std::uint32_t groups = clients / min_size;
  const std::uint32_t clusters = clients / groups;
  Rows<double> points(clients, input.labels.width);
  std::ranges::copy(input.labels.values, points.values.begin());
  const RowsView<double> first{std::span(points.values).first(clusters * points.width), points.width};
  const KMeansResult found = k_means_from(points, first, 1000);

  std::vector<std::vector<std::uint32_t>> members(clusters);
  for (std::uint32_t k = 0; k < clients; ++k) members[found.cluster[k]].push_back(k);
  draft.groups.resize(groups);
  std::uint32_t turn = 0;
  for (const auto& cluster : members) {
    for (const std::uint32_t client : cluster) draft.groups[turn++ % groups].push_back(client);
  }
  return draft;
}

}  // namespace muster
