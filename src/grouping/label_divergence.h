// How far label counts are from an even mix: the Kullback-Leibler divergence of their shares from uniform, in the
// closed form (sum of x ln x) / n - ln n + ln classes, so that a count that changes costs two lookups and no logarithm.
//
// x ln x is kept in whole units: sums of it are exact whatever their order, and two groups with the same counts in
// other classes compare equal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/rows.h"

namespace muster {

// The clients' label counts without the zeros.
struct SparseCounts {
  explicit SparseCounts(const RowsView<std::uint32_t>& labels);

  struct Entry {
    std::uint32_t label;
    std::uint32_t count;
  };
  [[nodiscard]] std::span<const Entry> row(std::uint32_t client) const {
    return std::span(entries).subspan(begins[client], begins[client + 1] - begins[client]);
  }

  std::vector<Entry> entries;  // client after client
  std::vector<std::size_t> begins;
  std::vector<std::uint64_t> samples;  // counts of each client, summed
};

class LabelDivergence {
 public:
  // Divergences are given in 1 / kUnit nats.
  static constexpr std::int64_t kUnit = std::int64_t{1} << 40;

  // For counts that are sums of rows of `labels`, each row in one group at most.
  explicit LabelDivergence(const RowsView<std::uint32_t>& labels);

  // x ln x in this object's own unit, which depends on how many samples there are in all.
  [[nodiscard]] std::int64_t x_log_x(std::uint64_t x) const {
    return x < table_.size() ? table_[x] : compute(x);  // the table ends where it would no longer fit the cache
  }
  // Of counts whose x_log_x() add up to `sum` and which themselves add up to `samples`; ln classes without samples.
  [[nodiscard]] std::int64_t of(std::int64_t sum, std::uint64_t samples) const {
    if (samples == 0) return largest_;
    const auto excess = static_cast<double>(sum - x_log_x(samples)) / static_cast<double>(samples) * to_unit_;
    return largest_ + static_cast<std::int64_t>(excess - 0.5);  // rounded: the excess is never positive
  }

 private:
  [[nodiscard]] std::int64_t compute(std::uint64_t x) const;

  double scale_ = 1;    // units of x_log_x() in a nat
  double to_unit_ = 1;  // kUnit / scale_
  std::int64_t largest_ = 0;
  std::vector<std::int64_t> table_;
};

}  // namespace muster
