#include "grouping/quality.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace muster {
namespace {

constexpr std::uint32_t kComparedGroups = 1000;

double total_of(std::span<const std::uint64_t> counts) {
  return std::accumulate(counts.begin(), counts.end(), 0.0);
}

// Linear interpolation between order statistics, as numpy's default. Reorders `values`.
double quantile(std::vector<double>& values, double share) {
  const double position = share * static_cast<double>(values.size() - 1);
  const auto low = static_cast<std::ptrdiff_t>(position);
  std::nth_element(values.begin(), values.begin() + low, values.end());
  const double below = values[static_cast<std::size_t>(low)];
  if (static_cast<double>(low) == position) return below;
  const double above = *std::min_element(values.begin() + low + 1, values.end());
  return below + (position - static_cast<double>(low)) * (above - below);
}

void judge_distances(const RowsView<std::uint64_t>& counts, GroupQuality& quality) {
  const std::uint32_t groups = counts.count();
  if (groups < 2) return;
  const double uniform = 1.0 / static_cast<double>(counts.width);
  Rows<double> shares(groups, counts.width);
  for (std::uint32_t g = 0; g < groups; ++g) {
    const double total = total_of(counts.row(g));
    for (std::size_t c = 0; c < counts.width; ++c) {
      shares.row(g)[c] = total > 0 ? static_cast<double>(counts.row(g)[c]) / total : uniform;
    }
  }
  const double kernel = -std::expm1(-1.0);
  // The mean over all pairs in closed form, about the mean share so that nothing cancels: 2 / (G - 1) * sum |P - M|^2.
  std::vector<double> mean(counts.width);
  for (std::uint32_t g = 0; g < groups; ++g) {
    for (std::size_t c = 0; c < counts.width; ++c) mean[c] += shares.row(g)[c] / groups;
  }
  double scatter = 0;
  for (std::uint32_t g = 0; g < groups; ++g) {
    for (std::size_t c = 0; c < counts.width; ++c) scatter += std::pow(shares.row(g)[c] - mean[c], 2);
  }
  quality.cpd_mean = kernel * 2 * scatter / (groups - 1);

  const std::uint32_t compared = std::min(groups, kComparedGroups);
  const auto nth = [&](std::uint32_t i) {
    return shares.row(static_cast<std::uint32_t>(std::uint64_t{i} * groups / compared));
  };
  std::vector<double> distances;
  distances.reserve(std::size_t{compared} * (compared - 1) / 2);
  for (std::uint32_t i = 0; i < compared; ++i) {
    const std::span<const double> p = nth(i);
    for (std::uint32_t j = 0; j < i; ++j) {
      const std::span<const double> q = nth(j);
      double sum = 0;
      for (std::size_t c = 0; c < counts.width; ++c) sum += (p[c] - q[c]) * (p[c] - q[c]);
      distances.push_back(kernel * sum);
    }
  }
  quality.cpd_low = quantile(distances, 0.25);
  quality.cpd_median = quantile(distances, 0.5);
  quality.cpd_high = quantile(distances, 0.75);
}

// The largest total of `gain` over one-to-one matchings of rows and columns (Hungarian method with potentials, on
// costs -gain). rows <= columns.
std::uint64_t best_matching(const Rows<std::uint32_t>& gain) {
  const std::size_t rows = gain.count();
  const std::size_t columns = gain.width;
  constexpr std::int64_t kFar = std::numeric_limits<std::int64_t>::max() / 4;
  std::vector<std::int64_t> row_price(rows + 1), column_price(columns + 1), slack(columns + 1);
  std::vector<std::size_t> owner(columns + 1), previous(columns + 1);  // row of a column from 1; 0 = none
  std::vector<char> done(columns + 1);
  for (std::size_t row = 1; row <= rows; ++row) {
    owner[0] = row;
    std::size_t column = 0;
    std::fill(slack.begin(), slack.end(), kFar);
    std::fill(done.begin(), done.end(), char{0});
    do {
      done[column] = 1;
      const std::size_t at = owner[column];
      std::int64_t step = kFar;
      std::size_t next = 0;
      for (std::size_t c = 1; c <= columns; ++c) {
        if (done[c]) continue;
        const std::int64_t reduced =
            -std::int64_t{gain.row(static_cast<std::uint32_t>(at - 1))[c - 1]} - row_price[at] - column_price[c];
        if (reduced < slack[c]) {
          slack[c] = reduced;
          previous[c] = column;
        }
        if (slack[c] < step) {
          step = slack[c];
          next = c;
        }
      }
      for (std::size_t c = 0; c <= columns; ++c) {
        if (done[c]) {
          row_price[owner[c]] += step;
          column_price[c] -= step;
        } else {
          slack[c] -= step;
        }
      }
      column = next;
    } while (owner[column] != 0);
    for (; column != 0; column = previous[column]) owner[column] = owner[previous[column]];
  }
  std::uint64_t total = 0;
  for (std::size_t c = 1; c <= columns; ++c) {
    if (owner[c] != 0) total += gain.row(static_cast<std::uint32_t>(owner[c] - 1))[c - 1];
  }
  return total;
}

double pairs(double n) {
  return n * (n - 1) / 2;
}

}  // namespace

double class_imbalance(std::span<const std::uint64_t> counts) {
  const double total = total_of(counts);
  if (total == 0) return std::numeric_limits<double>::infinity();
  const double share = 1.0 / static_cast<double>(counts.size());
  double sum = 0;
  for (const std::uint64_t count : counts) {
    const double off = static_cast<double>(count) / total - share;
    sum += off * off;
  }
  return sum;
}

double coefficient_of_variation(std::span<const std::uint64_t> counts) {
  return std::sqrt(static_cast<double>(counts.size()) * class_imbalance(counts));
}

double class_probability_distance(std::span<const std::uint64_t> a, std::span<const std::uint64_t> b, double sigma) {
  const double total_a = total_of(a);
  const double total_b = total_of(b);
  const double uniform = 1.0 / static_cast<double>(a.size());
  double sum = 0;
  for (std::size_t c = 0; c < a.size(); ++c) {
    const double p = total_a > 0 ? static_cast<double>(a[c]) / total_a : uniform;
    const double q = total_b > 0 ? static_cast<double>(b[c]) / total_b : uniform;
    sum += (p - q) * (p - q);
  }
  return -std::expm1(-1 / (sigma * sigma)) * sum;
}

double balance_ratio(std::span<const std::uint64_t> counts) {
  const auto [low, high] = std::minmax_element(counts.begin(), counts.end());
  return *high == 0 ? 0.0 : static_cast<double>(*low) / static_cast<double>(*high);
}

double covered_classes(std::span<const std::uint64_t> counts) {
  const auto present = std::count_if(counts.begin(), counts.end(), [](std::uint64_t count) { return count > 0; });
  return static_cast<double>(present) / static_cast<double>(counts.size());
}

Rows<std::uint64_t> group_counts(const Grouping& grouping, const RowsView<std::uint32_t>& labels) {
  Rows<std::uint64_t> counts(grouping.count(), labels.width);
  for (std::uint32_t g = 0; g < grouping.count(); ++g) {
    const std::span<std::uint64_t> row = counts.row(g);
    for (const ClientId client : grouping.members({g})) {
      const std::span<const std::uint32_t> own = labels.row(client.value);
      for (std::size_t c = 0; c < row.size(); ++c) row[c] += own[c];
    }
  }
  return counts;
}

GroupQuality judge_groups(const RowsView<std::uint64_t>& counts) {
  GroupQuality quality;
  const std::uint32_t groups = counts.count();
  if (groups == 0) return quality;
  std::vector<double> mix(counts.width);
  for (std::uint32_t g = 0; g < groups; ++g) {
    for (std::size_t c = 0; c < counts.width; ++c) mix[c] += static_cast<double>(counts.row(g)[c]);
  }
  const double everything = std::accumulate(mix.begin(), mix.end(), 0.0);
  std::uint32_t filled = 0;
  for (std::uint32_t g = 0; g < groups; ++g) {
    const std::span<const std::uint64_t> row = counts.row(g);
    quality.balance_ratio += balance_ratio(row);
    quality.covered_classes += covered_classes(row);
    const double total = total_of(row);
    if (total == 0) continue;
    ++filled;
    const double cov = coefficient_of_variation(row);
    quality.cov_mean += cov;
    quality.cov_max = std::max(quality.cov_max, cov);
    quality.qcid_mean += class_imbalance(row);
    for (std::size_t c = 0; c < counts.width; ++c) {
      quality.emd_mean += std::abs(static_cast<double>(row[c]) / total - mix[c] / everything);
    }
  }
  if (filled > 0) {
    quality.cov_mean /= filled;
    quality.qcid_mean /= filled;
    quality.emd_mean /= filled;
  }
  quality.balance_ratio /= groups;
  quality.covered_classes /= groups;
  judge_distances(counts, quality);
  return quality;
}

GroupSizes group_sizes(const Grouping& grouping) {
  GroupSizes sizes;
  if (grouping.count() == 0) return sizes;
  if (grouping.all_alone()) return {.smallest = 1, .mean = 1, .largest = 1};  // of millions, in every round
  sizes.smallest = std::numeric_limits<std::uint32_t>::max();
  double sum = 0;
  double squares = 0;
  for (std::uint32_t g = 0; g < grouping.count(); ++g) {
    const auto size = static_cast<std::uint32_t>(grouping.members({g}).size());
    sizes.smallest = std::min(sizes.smallest, size);
    sizes.largest = std::max(sizes.largest, size);
    sum += size;
    squares += static_cast<double>(size) * size;
  }
  sizes.mean = sum / grouping.count();
  sizes.deviation = std::sqrt(std::max(0.0, squares / grouping.count() - sizes.mean * sizes.mean));
  return sizes;
}

Agreement agreement(const Grouping& grouping, std::span<const std::uint32_t> truth) {
  Agreement result{.clients = static_cast<std::uint32_t>(truth.size())};
  // Clusters numbered densely: the labels in `truth` may be anything.
  std::vector<std::uint32_t> names(truth.begin(), truth.end());
  std::ranges::sort(names);
  names.erase(std::unique(names.begin(), names.end()), names.end());
  const auto number = [&](std::uint32_t name) {
    return static_cast<std::size_t>(std::ranges::lower_bound(names, name) - names.begin());
  };
  Rows<std::uint32_t> table(grouping.count(), names.size());  // clients of each group in each true cluster
  std::vector<double> columns(names.size());
  double clients = 0;
  for (std::uint32_t g = 0; g < grouping.count(); ++g) {
    for (const ClientId client : grouping.members({g})) {
      const std::size_t cluster = number(truth[client.value]);
      ++table.row(g)[cluster];
      ++columns[cluster];
      ++clients;
    }
  }
  if (clients == 0) return result;

  if (grouping.count() <= names.size()) {
    result.correct = static_cast<std::uint32_t>(best_matching(table));
  } else {
    Rows<std::uint32_t> turned(static_cast<std::uint32_t>(names.size()), grouping.count());
    for (std::uint32_t g = 0; g < grouping.count(); ++g) {
      for (std::uint32_t c = 0; c < names.size(); ++c) turned.row(c)[g] = table.row(g)[c];
    }
    result.correct = static_cast<std::uint32_t>(best_matching(turned));
  }

  double both = 0, by_group = 0, by_cluster = 0;
  double information = 0, group_entropy = 0, cluster_entropy = 0;
  for (std::uint32_t g = 0; g < grouping.count(); ++g) {
    const auto size = static_cast<double>(grouping.members({g}).size());
    by_group += pairs(size);
    if (size > 0) group_entropy -= size / clients * std::log(size / clients);
    for (std::size_t c = 0; c < names.size(); ++c) {
      const double shared = table.row(g)[c];
      both += pairs(shared);
      if (shared > 0) information += shared / clients * std::log(shared * clients / (size * columns[c]));
    }
  }
  for (const double column : columns) {
    by_cluster += pairs(column);
    if (column > 0) cluster_entropy -= column / clients * std::log(column / clients);
  }
  const double expected = clients > 1 ? by_group * by_cluster / pairs(clients) : 0;
  const double most = (by_group + by_cluster) / 2;
  result.adjusted_rand = most == expected ? 1 : (both - expected) / (most - expected);
  const double entropy = (group_entropy + cluster_entropy) / 2;
  result.mutual_information = entropy <= 0 ? 1 : std::clamp(information / entropy, 0.0, 1.0);
  return result;
}

}  // namespace muster
