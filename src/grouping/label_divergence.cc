#include "grouping/label_divergence.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace muster {

SparseCounts::SparseCounts(const RowsView<std::uint32_t>& labels) : begins{0} {
  begins.reserve(labels.count() + std::size_t{1});
  samples.reserve(labels.count());
  for (std::uint32_t k = 0; k < labels.count(); ++k) {
    const auto counts = labels.row(k);
    for (std::uint32_t c = 0; c < counts.size(); ++c) {
      if (counts[c] > 0) entries.push_back({c, counts[c]});
    }
    begins.push_back(entries.size());
    samples.push_back(std::accumulate(counts.begin(), counts.end(), std::uint64_t{0}));
  }
}

LabelDivergence::LabelDivergence(const RowsView<std::uint32_t>& labels) {
  const auto total = std::accumulate(labels.values.begin(), labels.values.end(), std::uint64_t{0});
  // Everything in one class is the largest sum possible: if it fits, so do all others.
  const auto most = static_cast<double>(total) * std::log(static_cast<double>(std::max<std::uint64_t>(total, 3)));
  scale_ = std::ldexp(1.0, std::min(61 - std::ilogb(most + 1), 46));
  to_unit_ = static_cast<double>(kUnit) / scale_;
  largest_ = std::llround(std::log(static_cast<double>(labels.width)) * static_cast<double>(kUnit));
  constexpr std::uint64_t kEntries = std::uint64_t{1} << 17;
  std::vector<std::int64_t> table(std::min(total + 1, kEntries));
  for (std::uint64_t x = 0; x < table.size(); ++x) table[x] = compute(x);
  table_ = std::move(table);
}

std::int64_t LabelDivergence::compute(std::uint64_t x) const {
  if (x < 2) return 0;
  return std::llround(static_cast<double>(x) * std::log(static_cast<double>(x)) * scale_);
}

}  // namespace muster
