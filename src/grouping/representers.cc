#include "grouping/representers.h"

#include <algorithm>
#include <numeric>

namespace muster {

Rows<double> representers(const GroupingInput& input) {
  const auto clients = static_cast<std::uint32_t>(input.samples.size());
  if (!input.vectors.empty()) {
    Rows<double> rows(clients, input.vectors.width);
    std::ranges::copy(input.vectors.values, rows.values.begin());
    return rows;
  }
  Rows<double> rows(clients, input.labels.width);
  for (std::uint32_t k = 0; k < clients; ++k) {
    const auto counts = input.labels.row(k);
    const auto total = static_cast<double>(std::accumulate(counts.begin(), counts.end(), std::uint64_t{0}));
    const auto shares = rows.row(k);
    for (std::size_t c = 0; c < counts.size(); ++c) {
      shares[c] = total > 0 ? counts[c] / total : 1 / static_cast<double>(counts.size());
    }
  }
  return rows;
}

}  // namespace muster
