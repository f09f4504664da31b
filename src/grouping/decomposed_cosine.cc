// Groups of updates that point in similar directions: each update is described by its cosines with the leading singular
// directions of all of them, as many as groups, and k-means clusters these descriptions (FedGroup, EDC). The updates
// are not centred.
#include <algorithm>
#include <cmath>

#include "grouping/eigenpairs.h"
#include "grouping/gram.h"
#include "grouping/groupers.h"
#include "grouping/kmeans.h"
#include "grouping/updates.h"

namespace muster {

Rows<double> direction_cosines(const Rows<double>& gram, std::uint32_t directions) {
  const std::uint32_t count = gram.count();
  Rows<double> cosines(count, directions);
  const EigenPairs pairs = leading_eigenpairs(gram, std::min(directions, count));
  // What float sums leave of an eigenvalue that is zero.
  const double least = 1e-7 * std::sqrt(static_cast<double>(count)) * pairs.values[0];
  for (std::uint32_t t = 0; t < pairs.values.size() && pairs.values[t] > least; ++t) {
    const double root = std::sqrt(pairs.values[t]);
    const std::span<const double> vector = pairs.vectors.row(t);
    for (std::uint32_t i = 0; i < count; ++i) cosines.row(i)[t] = root * vector[i] / std::sqrt(gram.row(i)[i]);
  }
  return cosines;
}

Result<Draft> group_decomposed_cosine(const GroupingOptions&, const GroupingInput& input, const GroupingCall& call) {
  const std::uint32_t groups = *call.groups;
  const std::uint32_t clients = input.vectors.count();
  MUSTER_TRY(check_pairs("decomposed-cosine", clients));
  const Directed directed = directed_updates(input.vectors);
  const auto count = static_cast<std::uint32_t>(directed.clients.size());
  std::vector<std::vector<std::uint32_t>> sets;
  if (directed.directions <= groups) {
    sets = sets_of(directed.leader, count);
  } else {
    Rows<double> cosines = direction_cosines(directed.gram, groups);
    // The same direction has the same cosines but for rounding, and k-means keeps equal points together.
    for (std::uint32_t i = 0; i < count; ++i) {
      if (directed.leader[i] != i) std::ranges::copy(cosines.row(directed.leader[i]), cosines.row(i).begin());
    }
    Stream stream = grouping_stream(call);
    sets = sets_of(k_means(cosines, {.clusters = groups}, stream).cluster, groups);
  }
  return with_zero_updates(std::move(sets), directed, clients, groups);
}

}  // namespace muster
