// Groups that each hold one client of every cluster of like clients, so that groups are alike and mixed (FedGSP,
// algorithm 2, inter-cluster grouping). For `groups` = M of K clients there are L = K / M clusters of c = K / L members
// (integer divisions), found by balanced k-means on raw label counts; K - L c clients drawn at random sit out. Group m
// takes the m-th member of every shuffled cluster: c groups with rows = all, M <= c of them with rows = exact.
#include "grouping/balanced_clusters.h"
#include "grouping/groupers.h"

namespace muster {
namespace {

// Clients times clusters: what the assignment weighs up, 8 bytes each and as much again for the moves between clusters.
constexpr std::uint64_t kMostPairs = std::uint64_t{1} << 27;

}  // namespace

Result<Draft> group_inter_cluster(const GroupingOptions& options, const GroupingInput& input,
                                  const GroupingCall& call) {
  const std::uint32_t groups = *call.groups;
  MUSTER_ASSIGN(const std::uint32_t max_iterations, chosen_number("max-iterations", options.max_iterations));
  MUSTER_ASSIGN(const std::string rows, chosen_word("rows", options.rows, {"all", "exact"}));

  const auto clients = static_cast<std::uint32_t>(input.samples.size());
  const std::uint32_t clusters = clients / groups;
  const std::uint32_t capacity = clients / clusters;

  const bool trivial = clusters == 1 || capacity == 1 || input.labels.width == 1;
  if (!trivial && std::uint64_t{clients} * clusters > kMostPairs) {
    return usage_error(
        "grouping.groups: {} for {} clients, want {} or more: fewer need more clusters than fit into memory", groups,
        clients, std::uint64_t{clients} * clients / kMostPairs + 1);
  }

  Stream stream = grouping_stream(call);
  const std::vector<std::uint32_t> sitting = stream.sample(clients, clusters * capacity);
  std::vector<std::vector<std::uint32_t>> members(clusters);
  if (trivial) {
    // One cluster, clusters of one, or a single class, which leaves nothing to mix: any split is as good.
    std::vector<std::uint32_t> order = sitting;
    stream.shuffle(std::span(order));
    for (std::uint32_t i = 0; i < order.size(); ++i) members[i / capacity].push_back(order[i]);
  } else {
    const std::vector<std::uint32_t> first = stream.sample(clusters * capacity, clusters);
    MUSTER_ASSIGN(const BalancedClusters found, balanced_clusters(input.labels, sitting, first, max_iterations));
    for (std::uint32_t i = 0; i < sitting.size(); ++i) members[found.cluster[i]].push_back(sitting[i]);
    for (auto& cluster : members) stream.shuffle(std::span(cluster));
  }

  Draft draft;
  draft.groups.resize(rows == "exact" ? groups : capacity);
  if (draft.groups.size() != groups) {
    draft.notes.push_back(
        fmt::format("{} groups wanted, {} formed: {} clients make {} groups of {}; rows = exact forms {} and leaves {} "
                    "clients idle",
                    groups, capacity, clients, capacity, clusters, groups, clients - groups * clusters));
  }
  for (std::uint32_t m = 0; m < draft.groups.size(); ++m) {
    for (const auto& cluster : members) draft.groups[m].push_back(cluster[m]);
  }
  return draft;
}

}  // namespace muster
