#include "grouping/balanced_clusters.h"

#include <algorithm>

#include "grouping/label_spread.h"
#include "grouping/transport.h"

namespace muster {
namespace {

// The label counts of the clients without their zeros.
struct SparseRows {
  struct Entry {
    std::uint32_t column;
    std::uint32_t count;
  };
  std::vector<Entry> entries;
  std::vector<std::size_t> ends;

  SparseRows(const RowsView<std::uint32_t>& labels, std::span<const std::uint32_t> clients) {
    for (const std::uint32_t client : clients) {
      const auto row = labels.row(client);
      for (std::uint32_t y = 0; y < row.size(); ++y) {
        if (row[y] != 0) entries.push_back({y, row[y]});
      }
      ends.push_back(entries.size());
    }
  }
  [[nodiscard]] std::uint32_t count() const { return static_cast<std::uint32_t>(ends.size()); }
  [[nodiscard]] std::span<const Entry> row(std::size_t k) const {
    const std::size_t begin = k == 0 ? 0 : ends[k - 1];
    return std::span(entries).subspan(begin, ends[k] - begin);
  }
};

// gains[k][l] = V_k . S_l. Number is double where all results are below 2^53, as it multiplies faster and is as exact.
template <typename Number>
void multiply(const SparseRows& rows, const Rows<std::int64_t>& sums, Rows<std::int64_t>& gains) {
  constexpr std::size_t kLanes = 8;
  const std::size_t clusters = sums.count();
  const std::size_t padded = (clusters + kLanes - 1) / kLanes * kLanes;
  std::vector<Number> turned(sums.width * padded);  // [class][cluster]
  for (std::uint32_t l = 0; l < clusters; ++l) {
    const auto sum = sums.row(l);
    for (std::size_t y = 0; y < sum.size(); ++y) turned[y * padded + l] = static_cast<Number>(sum[y]);
  }
  for (std::uint32_t k = 0; k < rows.count(); ++k) {
    const auto gain = gains.row(k);
    for (std::size_t begin = 0; begin < clusters; begin += kLanes) {
      Number dots[kLanes] = {};
      for (const SparseRows::Entry& entry : rows.row(k)) {
        const Number* const sum = &turned[entry.column * padded + begin];
        for (std::size_t i = 0; i < kLanes; ++i) dots[i] += static_cast<Number>(entry.count) * sum[i];
      }
      const std::size_t end = std::min(kLanes, clusters - begin);
      for (std::size_t i = 0; i < end; ++i) gain[begin + i] = static_cast<std::int64_t>(dots[i]);
    }
  }
}

}  // namespace

Result<BalancedClusters> balanced_clusters(const RowsView<std::uint32_t>& labels,
                                           std::span<const std::uint32_t> clients, std::span<const std::uint32_t> first,
                                           std::uint32_t max_iterations) {
  const auto clusters = static_cast<std::uint32_t>(first.size());
  const auto capacity = static_cast<std::uint32_t>(clients.size() / clusters);
  MUSTER_TRY(check_label_totals(labels));
  std::uint64_t total = 0, largest = 0;
  for (const std::uint32_t client : clients) {
    const std::uint64_t own = spread_of(labels.row(client)).total;
    total += own;
    largest = std::max(largest, own);
  }
  // V . S <= |V|_1 |S|_1. A path visits every cluster once, and prices start in the range of the gains.
  if (uint128{total} * total >> 62 != 0 || uint128{largest} * total * (4 * (uint128{clusters} + 2)) >> 62 != 0) {
    return failure("labels: {} samples in all, {} of them on one client, are too many to cluster exactly in 64 bits",
                   total, largest);
  }
  const bool fits_double = uint128{largest} * total >> 53 == 0;

  const SparseRows rows(labels, clients);
  Rows<std::int64_t> sums(clusters, labels.width);
  for (std::uint32_t l = 0; l < clusters; ++l) {
    for (const SparseRows::Entry& entry : rows.row(first[l])) sums.row(l)[entry.column] = entry.count;
  }
  const auto squared_sums = [&] {
    std::uint64_t squares = 0;
    for (const std::int64_t sum : sums.values) squares += static_cast<std::uint64_t>(sum * sum);
    return squares;
  };

  BalancedClusters result;
  Rows<std::int64_t> gains(rows.count(), clusters);
  std::vector<std::int64_t> prices(clusters);
  for (std::uint32_t iteration = 0; iteration < max_iterations; ++iteration) {
    if (fits_double) {
      multiply<double>(rows, sums, gains);
    } else {
      multiply<std::int64_t>(rows, sums, gains);
    }
    // Where nobody competes for room, the nearest centroid is that of the largest V . S - |S|^2 / 2m for a sum of m.
    const std::int64_t members = iteration == 0 ? 1 : capacity;
    for (std::uint32_t l = 0; l < clusters; ++l) {
      std::int64_t squares = 0;
      for (const std::int64_t sum : sums.row(l)) squares += sum * sum;
      prices[l] = squares / (2 * members);
    }
    Transport best = transport(gains, capacity, prices);
    // The clusters as they are gain |S|^2 each. If nothing gains more they stay, also where other clusters would tie.
    if (iteration > 0 && static_cast<std::uint64_t>(best.gain) == result.gains.back()) break;
    result.cluster = std::move(best.place);
    std::ranges::fill(sums.values, 0);
    for (std::uint32_t k = 0; k < rows.count(); ++k) {
      const auto sum = sums.row(result.cluster[k]);
      for (const SparseRows::Entry& entry : rows.row(k)) sum[entry.column] += entry.count;
    }
    result.gains.push_back(squared_sums());
  }
  return result;
}

}  // namespace muster
