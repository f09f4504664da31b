// Groups of updates that relate alike to all the others: an update is described by its cosines with everyone's, and the
// mean absolute differences of these descriptions are clustered by complete linkage (FedGroup, MADC).
#include <algorithm>
#include <cmath>

#include "grouping/gram.h"
#include "grouping/groupers.h"
#include "grouping/linkage.h"
#include "grouping/updates.h"

namespace muster {
namespace {

std::vector<std::vector<std::uint32_t>> linked_leaders(Rows<double> differences,
                                                       const std::vector<std::uint32_t>& leader, std::uint32_t groups) {
  std::vector<std::uint32_t> leaders;
  for (std::uint32_t i = 0; i < leader.size(); ++i) {
    if (leader[i] == i) leaders.push_back(i);
  }
  const auto count = static_cast<std::uint32_t>(leaders.size());
  if (count < leader.size()) {
    Rows<double> between(count, count);
    for (std::uint32_t i = 0; i < count; ++i) {
      for (std::uint32_t j = 0; j < count; ++j) between.row(i)[j] = differences.row(leaders[i])[leaders[j]];
    }
    differences = std::move(between);
  }
  std::vector<std::uint32_t> group_of(leader.size());
  const auto sets = cut_at_count(link(std::move(differences), Linkage::kComplete), count, groups);
  for (std::uint32_t g = 0; g < sets.size(); ++g) {
    for (const std::uint32_t item : sets[g]) group_of[leaders[item]] = g;
  }
  for (std::uint32_t i = 0; i < leader.size(); ++i) group_of[i] = group_of[leader[i]];
  return sets_of(group_of, static_cast<std::uint32_t>(sets.size()));
}

}  // namespace

Rows<double> mean_absolute_cosine_differences(Rows<double> gram) {
  normalize_gram(gram);
  const std::uint32_t count = gram.count();
  if (count <= 2) return {count, count};
  Rows<float> cosines(count, count);
  std::ranges::transform(gram.values, cosines.values.begin(), [](double value) { return static_cast<float>(value); });
  gram = {};  // as large as the result
  Rows<double> differences = l1_distances(cosines);
  for (std::uint32_t i = 0; i < count; ++i) {
    for (std::uint32_t j = 0; j < count; ++j) {
      double& entry = differences.row(i)[j];
      entry = std::max(0.0, entry - 2 * std::abs(1.0 - cosines.row(i)[j])) / (count - 2);
    }
  }
  return differences;
}

Result<Draft> group_mean_absolute_cosine(const GroupingOptions&, const GroupingInput& input, const GroupingCall& call) {
  const std::uint32_t groups = *call.groups;
  const std::uint32_t clients = input.vectors.count();
  MUSTER_TRY(check_pairs("mean-absolute-cosine", clients));
  Directed directed = directed_updates(input.vectors);
  const auto count = static_cast<std::uint32_t>(directed.clients.size());
  std::vector<std::vector<std::uint32_t>> sets;
  if (directed.directions <= groups) {
    sets = sets_of(directed.leader, count);
  } else {
    // Complete linkage looks at the farthest members alone: one client of each direction stands for all of them.
    sets = linked_leaders(mean_absolute_cosine_differences(std::move(directed.gram)), directed.leader, groups);
  }
  return with_zero_updates(std::move(sets), directed, clients, groups);
}

}  // namespace muster
