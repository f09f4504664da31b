// Groups of like models, each as good as one: again and again the two clusters whose mean vectors have the largest
// cosine are merged, the mean weighted by their sizes, as long as 1 - cosine is below `threshold` and a cluster has at
// most `max-clients` members. Clients that are left alone are idle, with `tail = keep` groups of their own, or with
// merge members of the cluster with the nearest mean, whatever its size.
//
// The clustering of FedCLAR (Presotto et al. 2022) as Group-FEL's authors ported it. Their code stops altogether once a
// cluster has outgrown the limit; here a merge that would outgrow it is left out, and others go on.
#include <algorithm>
#include <cmath>
#include <optional>

#include "grouping/gram.h"
#include "grouping/group_defaults.h"
#include "grouping/groupers.h"

namespace muster {
namespace {

// Clusters as sums of their members' vectors: a cosine does not see the division. All products of two sums follow from
// those of the vectors, so no long vector is ever made.
class Clusters {
 public:
  explicit Clusters(Rows<double> products) : products_(std::move(products)), members_(products_.count()) {
    for (std::uint32_t i = 0; i < members_.size(); ++i) members_[i] = {i};
  }

  [[nodiscard]] double distance(std::uint32_t a, std::uint32_t b) const {
    const double lengths = std::sqrt(products_.row(a)[a] * products_.row(b)[b]);
    return lengths > 0 ? 1 - products_.row(a)[b] / lengths : 1;
  }
  [[nodiscard]] std::size_t size(std::uint32_t cluster) const { return members_[cluster].size(); }
  [[nodiscard]] bool empty(std::uint32_t cluster) const { return members_[cluster].empty(); }

  // `b` becomes part of `a`, and is empty.
  void merge(std::uint32_t a, std::uint32_t b) {
    for (std::uint32_t j = 0; j < members_.size(); ++j) products_.row(a)[j] += products_.row(b)[j];
    for (std::uint32_t j = 0; j < members_.size(); ++j) products_.row(j)[a] += products_.row(j)[b];
    members_[a].insert(members_[a].end(), members_[b].begin(), members_[b].end());
    members_[b].clear();
  }

  [[nodiscard]] std::vector<std::vector<std::uint32_t>> take() { return std::move(members_); }

 private:
  Rows<double> products_;
  std::vector<std::vector<std::uint32_t>> members_;
};

// The merges, nearest pair first. Every cluster knows the nearest of those after it, so that most merges look at one
// row only.
class Merging {
 public:
  Merging(Clusters clusters, std::uint32_t count, double threshold, std::uint32_t most)
      : clusters_(std::move(clusters)), threshold_(threshold), most_(most), nearest_(count) {
    for (std::uint32_t a = 0; a < count; ++a) look(a);
  }

  std::vector<std::vector<std::uint32_t>> run(bool merge_alone) {
    while (true) {
      const auto first = std::ranges::min_element(nearest_, {}, &Near::distance);
      if (first->distance >= threshold_) break;
      const auto a = static_cast<std::uint32_t>(first - nearest_.begin());
      merge(a, first->cluster);
    }
    if (merge_alone) join_alone();
    return clusters_.take();
  }

 private:
  struct Near {
    std::uint32_t cluster = 0;
    double distance = 0;  // the threshold where there is none
  };

  void look(std::uint32_t a) {
    nearest_[a] = {a, threshold_};
    if (clusters_.empty(a)) return;
    for (std::uint32_t b = a + 1; b < nearest_.size(); ++b) compare(a, b);
  }
  void compare(std::uint32_t a, std::uint32_t b) {
    if (clusters_.empty(b) || clusters_.size(a) + clusters_.size(b) > most_) return;
    const double distance = clusters_.distance(a, b);
    const bool sooner = distance == nearest_[a].distance && b < nearest_[a].cluster;
    if (distance < nearest_[a].distance || sooner) nearest_[a] = {b, distance};
  }
  void merge(std::uint32_t a, std::uint32_t b) {
    clusters_.merge(a, b);
    for (std::uint32_t x = 0; x < nearest_.size(); ++x) {
      const bool changed = x == a || x == b || nearest_[x].cluster == a || nearest_[x].cluster == b;
      if (changed) {
        look(x);
      } else if (x < a && !clusters_.empty(x)) {
        compare(x, a);
      }
    }
  }

  // All by the means as they are now: where one goes does not depend on the others.
  void join_alone() {
    std::vector<std::pair<std::uint32_t, std::uint32_t>> joins;  // (cluster, client)
    for (std::uint32_t k = 0; k < nearest_.size(); ++k) {
      if (clusters_.size(k) != 1) continue;
      std::optional<Near> best;
      for (std::uint32_t a = 0; a < nearest_.size(); ++a) {
        if (clusters_.size(a) < 2) continue;
        const double distance = clusters_.distance(a, k);
        if (!best || distance < best->distance) best = {a, distance};
      }
      if (best) joins.emplace_back(best->cluster, k);
    }
    for (const auto& [cluster, client] : joins) clusters_.merge(cluster, client);
  }

  Clusters clusters_;
  double threshold_;
  std::uint32_t most_;
  std::vector<Near> nearest_;
};

}  // namespace

Status check_merge_means(const GroupingOptions& options, const KnownAhead&) {
  MUSTER_TRY(chosen_word("tail", with_defaults(options, 0).tail, {"discard", "keep", "merge"}));
  if (options.max_clients && *options.max_clients < 2) {
    return usage_error("grouping.max-clients: {}, want >= 2, or nobody can be merged", *options.max_clients);
  }
  return {};
}

Result<Draft> group_merge_means(const GroupingOptions& options, const GroupingInput& input, const GroupingCall&) {
  MUSTER_ASSIGN(const std::string tail, chosen_word("tail", options.tail, {"discard", "keep", "merge"}));
  const std::uint32_t clients = input.vectors.count();
  MUSTER_TRY(check_pairs("merge-means", clients));
  const double threshold = *options.threshold;
  const std::uint32_t most = *options.max_clients;
  Merging merging(Clusters(gram(input.vectors)), clients, threshold, most);
  Draft draft{.groups = merging.run(tail == "merge"), .notes = {}};
  const std::size_t least = tail == "discard" ? 2 : 1;
  std::erase_if(draft.groups, [&](const auto& group) { return group.size() < least; });
  if (draft.groups.empty()) {
    draft.notes.push_back(
        fmt::format("no two of {} clients are alike enough for grouping.threshold = {}", clients, threshold));
  }
  return draft;
}

}  // namespace muster
