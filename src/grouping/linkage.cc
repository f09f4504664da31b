#include "grouping/linkage.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "grouping/disjoint_sets.h"

namespace muster {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::vector<Merge> spanning_tree(const Rows<double>& distances) {
  const std::uint32_t count = distances.count();
  std::vector<double> nearest(count, kInfinity);  // of the tree, to each item outside
  std::vector<std::uint32_t> neighbour(count);
  std::vector<std::uint32_t> outside;
  for (std::uint32_t i = 1; i < count; ++i) outside.push_back(i);
  std::vector<Merge> edges;
  edges.reserve(outside.size());
  std::uint32_t added = 0;
  while (!outside.empty()) {
    const std::span<const double> row = distances.row(added);
    std::size_t best = 0;
    for (std::size_t o = 0; o < outside.size(); ++o) {
      const std::uint32_t item = outside[o];
      if (edges.empty() || row[item] < nearest[item]) {
        nearest[item] = row[item];
        neighbour[item] = added;
      }
      if (nearest[item] < nearest[outside[best]]) best = o;
    }
    added = outside[best];
    edges.push_back({neighbour[added], added, nearest[added]});
    outside.erase(outside.begin() + static_cast<std::ptrdiff_t>(best));
  }
  return edges;
}

// The distance from cluster k to the union of a and b (Lance and Williams 1967); for Ward's linkage all are squared.
template <Linkage linkage>
double joined(double ka, double kb, double ab, double size_k, double size_a, double size_b) {
  if constexpr (linkage == Linkage::kComplete) return std::max(ka, kb);
  if constexpr (linkage == Linkage::kAverage) return (size_a * ka + size_b * kb) / (size_a + size_b);
  return std::max(0.0, ((size_k + size_a) * ka + (size_k + size_b) * kb - size_k * ab) / (size_k + size_a + size_b));
}

// Follows nearest neighbours until two clusters are each other's: with these linkages they can be merged at once,
// because no later merge can come nearer to either.
template <Linkage linkage>
std::vector<Merge> chain_merges(Rows<double> distances) {
  const std::uint32_t count = distances.count();
  std::vector<double> size(count, 1.0);
  std::vector<double> height(count);  // of the cluster's own merge
  std::vector<std::uint32_t> open(count);
  std::iota(open.begin(), open.end(), 0u);
  std::vector<std::uint32_t> chain;
  std::vector<Merge> merges;
  merges.reserve(count);
  while (open.size() > 1) {
    if (chain.empty()) chain.push_back(open[0]);
    const std::uint32_t last = chain.back();
    const std::span<const double> row = distances.row(last);
    // The one before stays on equal distance: otherwise ties could lead in a circle.
    std::uint32_t nearest = chain.size() > 1 ? chain[chain.size() - 2] : last;
    double distance = chain.size() > 1 ? row[nearest] : kInfinity;
    for (const std::uint32_t item : open) {
      if (item == last || !(row[item] < distance || nearest == last)) continue;
      nearest = item;
      distance = row[item];
    }
    if (chain.size() < 2 || nearest != chain[chain.size() - 2]) {
      chain.push_back(nearest);
      continue;
    }
    chain.resize(chain.size() - 2);
    const auto [a, b] = std::minmax(last, nearest);
    const std::span<double> row_a = distances.row(a);
    const std::span<double> row_b = distances.row(b);
    open.erase(std::ranges::lower_bound(open, b));
    for (const std::uint32_t item : open) {
      if (item == a) continue;
      row_a[item] = joined<linkage>(row_a[item], row_b[item], distance, size[item], size[a], size[b]);
      distances.row(item)[a] = row_a[item];
    }
    size[a] += size[b];
    height[a] = std::max({distance, height[a], height[b]});  // rounding must not put a merge before its parts
    merges.push_back({a, b, height[a]});
  }
  return merges;
}

DisjointSets join_first(const std::vector<Merge>& merges, std::uint32_t items, std::size_t count) {
  DisjointSets sets(items);
  for (std::size_t m = 0; m < count; ++m) sets.join(merges[m].a, merges[m].b);
  return sets;
}

}  // namespace

std::vector<Merge> link(Rows<double> distances, Linkage linkage) {
  std::vector<Merge> merges;
  switch (linkage) {
    case Linkage::kSingle:
      merges = spanning_tree(distances);
      break;
    case Linkage::kComplete:
      merges = chain_merges<Linkage::kComplete>(std::move(distances));
      break;
    case Linkage::kAverage:
      merges = chain_merges<Linkage::kAverage>(std::move(distances));
      break;
    case Linkage::kWard:
      for (double& value : distances.values) value *= value;
      merges = chain_merges<Linkage::kWard>(std::move(distances));
      for (Merge& merge : merges) merge.height = std::sqrt(merge.height);
      break;
  }
  std::ranges::stable_sort(merges, [](const Merge& x, const Merge& y) { return x.height < y.height; });
  return merges;
}

std::vector<std::vector<std::uint32_t>> cut_at_count(const std::vector<Merge>& merges, std::uint32_t items,
                                                     std::uint32_t clusters, double same) {
  const auto end = std::ranges::partition_point(merges, [&](const Merge& merge) { return merge.height <= same; });
  const auto alike = static_cast<std::size_t>(end - merges.begin());
  return join_first(merges, items, std::max<std::size_t>(items - clusters, alike)).sets();
}

std::vector<std::vector<std::uint32_t>> cut_at_height(const std::vector<Merge>& merges, std::uint32_t items,
                                                      double threshold) {
  const auto end = std::ranges::partition_point(merges, [&](const Merge& merge) { return merge.height < threshold; });
  return join_first(merges, items, static_cast<std::size_t>(end - merges.begin())).sets();
}

}  // namespace muster
