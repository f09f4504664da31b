#include "grouping/kmeans.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/check.h"

namespace muster {
namespace {

double squared_distance(std::span<const double> a, std::span<const double> b) {
  double sum = 0;
  for (std::size_t j = 0; j < a.size(); ++j) sum += (a[j] - b[j]) * (a[j] - b[j]);
  return sum;
}

// Points to their nearest centres. True if any changed cluster.
bool assign(const RowsView<double>& points, const Rows<double>& centres, std::vector<std::uint32_t>& cluster,
            std::vector<double>& distance) {
  const std::uint32_t clusters = centres.count();
  std::vector<double> transposed(centres.values.size());
  for (std::uint32_t c = 0; c < clusters; ++c) {
    for (std::size_t j = 0; j < centres.width; ++j) transposed[j * clusters + c] = centres.row(c)[j];
  }
  std::vector<double> to(clusters);
  bool changed = false;
  for (std::uint32_t i = 0; i < points.count(); ++i) {
    const auto point = points.row(i);
    std::ranges::fill(to, 0.0);
    // Clusters innermost: they are independent sums, which a vector unit adds side by side without reordering any.
    for (std::size_t j = 0; j < points.width; ++j) {
      const double* const centre = transposed.data() + j * clusters;
      for (std::uint32_t c = 0; c < clusters; ++c) to[c] += (point[j] - centre[c]) * (point[j] - centre[c]);
    }
    const auto nearest = static_cast<std::uint32_t>(std::ranges::min_element(to) - to.begin());
    changed |= nearest != cluster[i];
    cluster[i] = nearest;
    distance[i] = to[nearest];
  }
  return changed;
}

// Gives every empty cluster the point that is farthest from its own centre, if any is off it and its cluster has
// others. Points equal to it go along: they would follow at the next assignment, and must not be separated if there is
// none.
void fill_empty_clusters(const RowsView<double>& points, std::vector<std::uint32_t>& cluster,
                         std::vector<double>& distance, std::uint32_t clusters) {
  const auto count = static_cast<std::uint32_t>(cluster.size());
  std::vector<std::uint32_t> sizes(clusters);
  for (const std::uint32_t c : cluster) ++sizes[c];
  std::vector<bool> uniform(clusters);  // all points of the cluster are known to be equal
  for (std::uint32_t empty = 0; empty < clusters;) {
    if (sizes[empty] > 0) {
      ++empty;
      continue;
    }
    std::uint32_t farthest = 0;
    double most = 0;
    for (std::uint32_t i = 0; i < count; ++i) {
      if (distance[i] <= most || uniform[cluster[i]]) continue;
      farthest = i;
      most = distance[i];
    }
    if (most == 0) return;
    const std::uint32_t from = cluster[farthest];
    std::vector<std::uint32_t> alike;
    for (std::uint32_t i = 0; i < count; ++i) {
      if (cluster[i] == from && std::ranges::equal(points.row(i), points.row(farthest))) alike.push_back(i);
    }
    if (alike.size() == sizes[from]) {
      uniform[from] = true;
      continue;
    }
    for (const std::uint32_t i : alike) {
      cluster[i] = empty;
      distance[i] = 0;
    }
    sizes[empty] = static_cast<std::uint32_t>(alike.size());
    sizes[from] -= sizes[empty];
  }
}

void move_to_means(const RowsView<double>& points, const std::vector<std::uint32_t>& cluster, Rows<double>& centres) {
  Rows<double> sums(centres.count(), centres.width);
  std::vector<std::uint32_t> sizes(centres.count());
  for (std::uint32_t i = 0; i < points.count(); ++i) {
    const auto point = points.row(i);
    const auto sum = sums.row(cluster[i]);
    for (std::size_t j = 0; j < points.width; ++j) sum[j] += point[j];
    ++sizes[cluster[i]];
  }
  for (std::uint32_t c = 0; c < centres.count(); ++c) {
    if (sizes[c] == 0) continue;
    for (std::size_t j = 0; j < centres.width; ++j) centres.row(c)[j] = sums.row(c)[j] / sizes[c];
  }
}

KMeansResult iterate(const RowsView<double>& points, Rows<double> centres, std::uint32_t max_iterations) {
  KMeansResult result;
  result.centres = std::move(centres);
  result.cluster.assign(points.count(), std::numeric_limits<std::uint32_t>::max());
  std::vector<double> distance(points.count());
  bool changed = assign(points, result.centres, result.cluster, distance);
  for (std::uint32_t iteration = 0; iteration < max_iterations && changed; ++iteration) {
    fill_empty_clusters(points, result.cluster, distance, result.centres.count());
    move_to_means(points, result.cluster, result.centres);
    if (iteration + 1 < max_iterations) changed = assign(points, result.centres, result.cluster, distance);
  }
  for (std::uint32_t i = 0; i < points.count(); ++i) {
    result.objective += squared_distance(points.row(i), result.centres.row(result.cluster[i]));
  }
  return result;
}

// A point drawn with probability in proportion to its `weights`, whose sum is `total` > 0.
std::uint32_t draw(std::span<const double> weights, double total, Stream& stream) {
  double left = stream.uniform() * total;
  std::uint32_t drawn = 0;
  for (std::uint32_t i = 0; i < weights.size(); ++i) {
    if (weights[i] == 0) continue;
    drawn = i;  // rounding may leave a rest after the last
    if ((left -= weights[i]) < 0) break;
  }
  return drawn;
}

Rows<double> spread_centres(const RowsView<double>& points, std::uint32_t clusters, Stream& stream) {
  const std::uint32_t count = points.count();
  const int candidates = 2 + static_cast<int>(std::log(static_cast<double>(clusters)));
  Rows<double> centres(clusters, points.width);
  const std::span<const double> first = points.row(stream.below(count));
  std::ranges::copy(first, centres.row(0).begin());
  std::vector<double> nearest(count);  // squared distances to the nearest centre so far
  double total = 0;
  for (std::uint32_t i = 0; i < count; ++i) total += nearest[i] = squared_distance(points.row(i), first);
  std::vector<double> with(count), best(count);
  for (std::uint32_t c = 1; c < clusters; ++c) {
    if (total == 0) {  // all points are centres already: the remaining clusters stay empty on top of the first
      std::ranges::copy(first, centres.row(c).begin());
      continue;
    }
    double least = std::numeric_limits<double>::infinity();
    std::uint32_t chosen = 0;
    for (int candidate = 0; candidate < candidates; ++candidate) {
      const std::uint32_t next = draw(nearest, total, stream);
      double sum = 0;
      for (std::uint32_t i = 0; i < count; ++i) {
        with[i] = std::min(nearest[i], squared_distance(points.row(i), points.row(next)));
        sum += with[i];
      }
      if (sum >= least) continue;
      least = sum;
      chosen = next;
      std::swap(best, with);
    }
    std::swap(nearest, best);
    total = least;
    std::ranges::copy(points.row(chosen), centres.row(c).begin());
  }
  return centres;
}

}  // namespace

KMeansResult k_means(const RowsView<double>& points, const KMeansOptions& options, Stream& stream) {
  MUSTER_CHECK(options.clusters > 0 && points.count() > 0, "{} clusters of {} points", options.clusters,
               points.count());
  KMeansResult best;
  for (std::uint32_t start = 0; start < std::max(options.restarts, 1u); ++start) {
    KMeansResult result = iterate(points, spread_centres(points, options.clusters, stream), options.max_iterations);
    if (start == 0 || result.objective < best.objective) best = std::move(result);
  }
  return best;
}

KMeansResult k_means_from(const RowsView<double>& points, const RowsView<double>& centres,
                          std::uint32_t max_iterations) {
  MUSTER_CHECK(centres.count() > 0 && centres.width == points.width, "{} centres of width {} for width {}",
               centres.count(), centres.width, points.width);
  Rows<double> start(centres.count(), centres.width);
  std::ranges::copy(centres.values, start.values.begin());
  return iterate(points, std::move(start), max_iterations);
}

}  // namespace muster
