// Groups of near vectors by agglomerative clustering, down to a number of groups or as long as clusters are nearer than
// a threshold (FL+HC, Briggs et al. 2020). Distances: L1, L2, or 1 - cosine, where a zero vector has cosine 0.
#include <cmath>

#include "grouping/gram.h"
#include "grouping/groupers.h"
#include "grouping/linkage.h"

namespace muster {
namespace {

Rows<double> distances_by(const std::string& metric, const RowsView<float>& vectors) {
  if (metric == "l1") return l1_distances(vectors);
  if (metric == "l2") return l2_distances(vectors);
  Rows<double> distances = gram(vectors);
  normalise_gram(distances);
  for (double& value : distances.values) value = 1 - value;
  return distances;
}

Linkage linkage_of(const std::string& word) {
  if (word == "single") return Linkage::kSingle;
  if (word == "complete") return Linkage::kComplete;
  return word == "average" ? Linkage::kAverage : Linkage::kWard;
}

}  // namespace

Result<Draft> group_agglomerative(const GroupingOptions& options, const GroupingInput& input,
                                  const GroupingCall& call) {
  MUSTER_ASSIGN(const std::string metric, chosen_word("metric", options.metric, "l2", {"l1", "l2", "cosine"}));
  MUSTER_ASSIGN(const std::string linkage,
                chosen_word("linkage", options.linkage, "ward", {"single", "complete", "average", "ward"}));
  if (linkage == "ward" && metric != "l2") {
    return usage_error("grouping.linkage: ward is for metric = l2, want single | complete | average with metric = {}",
                       metric);
  }
  if (options.threshold.has_value() == call.groups.has_value()) {
    return usage_error("grouping.threshold: {} grouping.groups, want one of the two",
                       call.groups ? "set together with" : "not set, and neither is");
  }
  if (options.threshold && !(*options.threshold >= 0)) {
    return usage_error("grouping.threshold: {}, want >= 0", *options.threshold);
  }
  const std::uint32_t clients = input.vectors.count();
  MUSTER_TRY(check_pairs("agglomerative", clients));
  const std::vector<Merge> merges = link(distances_by(metric, input.vectors), linkage_of(linkage));
  return Draft{.groups = call.groups ? cut_at_count(merges, clients, *call.groups)
                                     : cut_at_height(merges, clients, *options.threshold),
               .notes = {}};
}

}  // namespace muster
