// Balanced k-means: clusters of like clients that all have the same number of members, in exact integers.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "base/rows.h"

namespace muster {

struct BalancedClusters {
  std::vector<std::uint32_t> cluster;  // of each client
  // The sum of |S_l|^2 over clusters with label sums S_l, after each iteration. It only rises: the squared distances to
  // the centroids add up to sum |V_k|^2 - gain / c, with c members per cluster.
  std::vector<std::uint64_t> gains;
};

// Splits `clients` (rows of `labels`) into first.size() clusters of equal size, beginning with the clients `first`
// (positions in `clients`) as centroids, until nothing can be gained or for so many iterations. Fails if the counts are
// too large for 64 bits. Preconditions: clients.size() is a multiple of first.size() > 0; max_iterations > 0.
[[nodiscard]] Result<BalancedClusters> balanced_clusters(const RowsView<std::uint32_t>& labels,
                                                         std::span<const std::uint32_t> clients,
                                                         std::span<const std::uint32_t> first,
                                                         std::uint32_t max_iterations);

}  // namespace muster
