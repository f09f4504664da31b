#include "engine/oracle.h"

#include <algorithm>

#include "base/random.h"

namespace muster {
namespace {

// Groups, or single clients, that enter the quality figures; of more this many are drawn.
constexpr std::uint32_t kJudgedGroups = 1000;
// Label counts that are told, of all groups together.
constexpr std::uint64_t kToldCounts = 5000;

// The places that are judged of `count`.
std::vector<std::uint32_t> judged_of(std::uint32_t count, std::uint64_t seed) {
  Stream stream({.seed = seed, .purpose = Purpose::kGrouping, .part = 1});
  return stream.sample(count, std::min(count, kJudgedGroups));
}

}  // namespace

Oracle::Oracle(const FederatedData& data, std::uint64_t seed, std::shared_ptr<const Attackers> attackers)
    : data_(data), attackers_(std::move(attackers)), seed_(seed) {
  for (std::uint32_t k = 0; k < data.clients(); ++k) {
    const std::optional<std::uint32_t> cluster = data.planted_cluster({k});
    if (!cluster) {
      clusters_.clear();
      break;
    }
    clusters_.push_back(*cluster);
  }
}

Oracle::Judgement Oracle::judge(const Grouping& grouping) const {
  const std::vector<std::uint32_t> judged = judged_of(grouping.count(), seed_);
  Rows<std::uint64_t> counts(static_cast<std::uint32_t>(judged.size()), data_.classes());
  for (std::uint32_t i = 0; i < judged.size(); ++i) {
    const std::span<std::uint64_t> sums = counts.row(i);
    const GroupId g{judged[i]};
    for (const ClientId client : grouping.members(g)) {
      const std::vector<std::uint32_t> own = data_.label_counts(client);
      for (std::size_t c = 0; c < sums.size(); ++c) sums[c] += own[c];
    }
  }
  Judgement judgement{.quality = judge_groups(counts), .labels = {}};
  if (judged.size() == grouping.count() && std::uint64_t{grouping.count()} * data_.classes() <= kToldCounts) {
    judgement.labels = Rows<std::uint64_t>(grouping.count(), data_.classes());
    for (std::uint32_t i = 0; i < judged.size(); ++i) {
      std::ranges::copy(counts.row(i), judgement.labels.row(judged[i]).begin());
    }
  }
  return judgement;
}

const GroupQuality& Oracle::client_quality() const {
  if (client_quality_) return *client_quality_;
  Grouping alone;
  for (const std::uint32_t k : judged_of(data_.clients(), seed_)) {
    const ClientId client{k};
    if (data_.train_count(client) > 0) alone.add(std::span(&client, 1));
  }
  return client_quality_.emplace(quality(alone));
}

std::optional<Agreement> Oracle::truth(const Grouping& grouping) const {
  if (clusters_.empty() || grouping.count() > kJudgedGroups) return std::nullopt;
  return agreement(grouping, clusters_);
}

std::optional<Oracle::Contrast> Oracle::contrast(const ClientDistances& distances) const {
  if (clusters_.empty()) return std::nullopt;
  Contrast sums;
  double pairs_within = 0;
  double pairs_between = 0;
  for (std::uint32_t i = 0; i < distances.clients.size(); ++i) {
    for (std::uint32_t k = 0; k < i; ++k) {
      const bool same = clusters_[distances.clients[i].value] == clusters_[distances.clients[k].value];
      (same ? sums.within : sums.between) += distances.rows.row(i)[k];
      ++(same ? pairs_within : pairs_between);
    }
  }
  return Contrast{.within = sums.within / pairs_within, .between = sums.between / pairs_between};
}

}  // namespace muster
