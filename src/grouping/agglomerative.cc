// Groups of near vectors by agglomerative clustering, down to a number of groups or as long as clusters are nearer than
// a threshold (FL+HC, Briggs et al. 2020). Distances: L1, L2, or 1 - cosine, where a zero vector is at 1 from all but
// zero vectors. Equal vectors, by cosine equal directions, are never separated to reach a number of groups.

#include "grouping/gram.h"
#include "grouping/group_defaults.h"
#include "grouping/groupers.h"
#include "grouping/linkage.h"
#include "grouping/updates.h"

namespace muster {
namespace {

Linkage linkage_of(const std::string& word) {
  if (word == "single") return Linkage::kSingle;
  if (word == "complete") return Linkage::kComplete;
  return word == "average" ? Linkage::kAverage : Linkage::kWard;
}

struct Choice {
  std::string metric;
  std::string linkage;
};

Result<Choice> chosen(const GroupingOptions& given) {
  const GroupingOptions options = with_defaults(given, 0);
  Choice choice;
  MUSTER_ASSIGN(choice.metric, chosen_word("metric", options.metric, {"l1", "l2", "cosine"}));
  MUSTER_ASSIGN(choice.linkage, chosen_word("linkage", options.linkage, {"single", "complete", "average", "ward"}));
  if (choice.linkage == "ward" && choice.metric != "l2") {
    return usage_error(
        "grouping.linkage: {}, but ward's linkage is defined for metric = l2 only; want single | complete | average "
        "with metric = {}",
        given.linkage.empty() ? "ward by default" : "ward", choice.metric);
  }
  return choice;
}

}  // namespace

Status check_agglomerative(const GroupingOptions& options, const KnownAhead& ahead) {
  MUSTER_TRY(chosen(options));
  const bool groups = options.groups.has_value() || ahead.groups_in_call;
  if (options.threshold && groups) {
    return usage_error("grouping.threshold: {}, but a number of groups is set too; want one of the two",
                       *options.threshold);
  }
  if (!options.threshold && !groups) {
    return usage_error("grouping.threshold: not set, and neither is grouping.groups; want one of the two");
  }
  if (options.threshold && !(*options.threshold >= 0)) {
    return usage_error("grouping.threshold: {}, want >= 0", *options.threshold);
  }
  return {};
}

Result<Draft> group_agglomerative(const GroupingOptions& options, const GroupingInput& input,
                                  const GroupingCall& call) {
  MUSTER_ASSIGN(const Choice choice, chosen(options));
  const std::uint32_t clients = input.vectors.count();
  MUSTER_TRY(check_pairs("agglomerative", clients));
  const std::vector<Merge> merges = link(distances_by(choice.metric, input.vectors), linkage_of(choice.linkage));
  if (options.threshold) return Draft{.groups = cut_at_height(merges, clients, *options.threshold), .notes = {}};
  const bool cosine = choice.metric == "cosine";
  Draft draft{.groups = cut_at_count(merges, clients, *call.groups, cosine ? kSameDirection : 0), .notes = {}};
  if (const auto formed = static_cast<std::uint32_t>(draft.groups.size()); formed < *call.groups) {
    draft.notes.push_back(too_few_distinct(*call.groups, formed, cosine ? "direction" : "vector", formed));
  }
  return draft;
}

}  // namespace muster
