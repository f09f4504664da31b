// Groups of updates that stand alike to all the others: the cosines of a client's update with everyone's describe it,
// their mean absolute differences are clustered by complete linkage (FedGroup, MADC).
#include <algorithm>
#include <cmath>

#include "grouping/gram.h"
#include "grouping/groupers.h"
#include "grouping/linkage.h"
#include "grouping/updates.h"

namespace muster {

Rows<double> mean_absolute_cosine_differences(Rows<double> gram) {
  normalise_gram(gram);
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
  std::vector<std::vector<std::uint32_t>> sets;
  if (const auto count = static_cast<std::uint32_t>(directed.clients.size()); count > 0) {
    Rows<double> differences = mean_absolute_cosine_differences(std::move(directed.gram));
    sets = cut_at_count(link(std::move(differences), Linkage::kComplete), count, std::min(groups, count));
  }
  return with_zero_updates(std::move(sets), directed, clients, groups);
}

}  // namespace muster
