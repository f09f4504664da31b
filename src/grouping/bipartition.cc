// One split of the clients in two, where their updates disagree (Sattler et al. 2020): the mean update is short, since
// the group is near a stationary point, though some client's is long. The halves have the smallest possible largest
// cosine across them: the cut through the weakest edge of the maximum spanning tree, which is single linkage. Zero
// updates have cosine 0 with all others.
//
// Short and long are lengths in the model's own units. The defaults are those of the authors' notebook (EMNIST, a
// convolutional network of 18,506 weights); without thresholds every group of three would be split in every round.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "grouping/gram.h"
#include "grouping/group_defaults.h"
#include "grouping/groupers.h"
#include "grouping/linkage.h"
#include "grouping/updates.h"

namespace muster {
namespace {

Status check_length(const char* key, const std::optional<double>& length) {
  if (!length || *length >= 0) return {};
  return usage_error("grouping.{}: {}, want >= 0", key, *length);
}

Draft together(std::uint32_t clients, std::string note) {
  Draft draft;
  draft.groups.emplace_back(clients);
  std::iota(draft.groups[0].begin(), draft.groups[0].end(), 0u);
  draft.notes.push_back(std::move(note));
  return draft;
}

Result<Linkage> chosen_linkage(const GroupingOptions& options) {
  MUSTER_ASSIGN(const std::string word, chosen_word("linkage", options.linkage, {"single", "complete"}));
  return word == "single" ? Linkage::kSingle : Linkage::kComplete;
}

}  // namespace

Status check_bipartition(const GroupingOptions& options, const KnownAhead&) {
  MUSTER_TRY(chosen_linkage(with_defaults(options, 0)));
  MUSTER_TRY(check_length("epsilon-mean", options.epsilon_mean));
  return check_length("epsilon-max", options.epsilon_max);
}

Result<Draft> group_bipartition(const GroupingOptions& options, const GroupingInput& input, const GroupingCall&) {
  MUSTER_ASSIGN(const Linkage linkage, chosen_linkage(options));
  const std::uint32_t clients = input.vectors.count();
  MUSTER_TRY(check_pairs("bipartition", clients));
  Rows<double> products = gram(input.vectors);
  double longest = 0;
  for (std::uint32_t i = 0; i < clients; ++i) longest = std::max(longest, std::sqrt(products.row(i)[i]));
  const double mean = mean_length(input.vectors);
  const double short_mean = *options.epsilon_mean;
  const double long_update = *options.epsilon_max;
  const auto unsplit = [&](const std::string& why) {
    return together(clients, fmt::format("no split, {} (length of the mean update {:.4g}, of the longest {:.4g})", why,
                                         mean, longest));
  };
  if (clients <= 2) return unsplit("fewer than 3 clients");
  if (!(mean < short_mean)) {
    return unsplit(fmt::format("the mean update is not shorter than epsilon-mean = {}", short_mean));
  }
  if (!(longest > long_update)) {
    return unsplit(fmt::format("no update is longer than epsilon-max = {}", long_update));
  }
  const std::vector<Merge> merges = link(cosine_distances(std::move(products)), linkage);
  if (merges.back().height <= kSameDirection) return unsplit("all updates point in the same direction");
  return Draft{.groups = cut_at_count(merges, clients, 2), .notes = {}};
}

}  // namespace muster
