// Agglomerative clustering: the two nearest clusters are merged until one is left. From the distances of all pairs ->
// the merges, nearest first, and from those any number of clusters, or the clusters within any distance.
//
// Complete, average and Ward's linkage by chains of nearest neighbours (Murtagh 1983), single linkage by Prim's
// spanning tree: both O(n^2) time on one n x n matrix. Where distances tie, a lower number comes first.
#pragma once

#include <cstdint>
#include <vector>

#include "base/rows.h"

namespace muster {

enum class Linkage {
  kSingle,    // nearest members
  kComplete,  // farthest members
  kAverage,   // mean over pairs of members
  kWard,      // growth of the sum of squares, as a length: two clients merge at their distance. Wants L2 distances.
};

// The clusters that hold items `a` and `b` become one at distance `height`.
struct Merge {
  std::uint32_t a = 0;
  std::uint32_t b = 0;
  double height = 0;
};

// All n - 1 merges of n items, heights ascending. `distances` is square, symmetric and free of NaN, and is used up.
[[nodiscard]] std::vector<Merge> link(Rows<double> distances, Linkage linkage);

// The clusters that are left when `clusters` are wanted, by their first items. There are fewer if only items that were
// merged at a height of at most `same` would be left to separate. Precondition: 1 <= clusters <= items.
[[nodiscard]] std::vector<std::vector<std::uint32_t>> cut_at_count(const std::vector<Merge>& merges,
                                                                   std::uint32_t items, std::uint32_t clusters,
                                                                   double same = -1);
// The clusters that are left when only those nearer than `threshold` are merged.
[[nodiscard]] std::vector<std::vector<std::uint32_t>> cut_at_height(const std::vector<Merge>& merges,
                                                                    std::uint32_t items, double threshold);

}  // namespace muster
