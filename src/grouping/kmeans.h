// K-means by Lloyd's method: points -> clusters of near ones, each with its mean. What the clusters are for, and how
// many there are, is up to the caller.
//
// Points are finite. A cluster that loses its last point takes the one farthest from its own centre, so clusters stay
// empty only where there are fewer distinct points than clusters. Equal points are always in one cluster. Ties go to
// the lowest cluster, then the lowest point; sums run in the order of points: the same input and draws give the same
// bits.
#pragma once

#include <cstdint>
#include <vector>

#include "base/random.h"
#include "base/rows.h"

namespace muster {

struct KMeansOptions {
  std::uint32_t clusters = 1;  // at least 1
  std::uint32_t max_iterations = 20;
  std::uint32_t restarts = 10;  // the best of so many starts counts; the first of equals
};

struct KMeansResult {
  std::vector<std::uint32_t> cluster;  // of each point
  Rows<double> centres;                // means of the clusters; an empty cluster's is where it was last
  double objective = 0;                // squared distances to the own centres, summed
};

// Starts from centres drawn by greedy k-means++ (Arthur and Vassilvitskii 2007, as in scikit-learn): for each centre
// 2 + floor(ln clusters) points are drawn with probability in proportion to the squared distance to the centres before,
// and the one that leaves the smallest sum of these distances is taken, the first of equals.
[[nodiscard]] KMeansResult k_means(const RowsView<double>& points, const KMeansOptions& options, Stream& stream);

// Starts from `centres`, which has the width of `points` and at least one row. With no iteration every point is in the
// cluster of its nearest centre and the centres are as given.
[[nodiscard]] KMeansResult k_means_from(const RowsView<double>& points, const RowsView<double>& centres,
                                        std::uint32_t max_iterations);

}  // namespace muster
