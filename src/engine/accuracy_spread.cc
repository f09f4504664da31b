#include "engine/accuracy_spread.h"

#include <algorithm>

namespace muster {

double nearest_rank(std::span<const double> sorted, std::uint32_t percent) {
  const std::size_t place = (sorted.size() * percent + 99) / 100;
  return sorted[place - 1];
}

std::optional<AccuracySpread> spread_of(std::vector<double> accuracies) {
  if (accuracies.empty()) return std::nullopt;
  std::ranges::sort(accuracies);
  return AccuracySpread{.worst = accuracies.front(),
                        .p10 = nearest_rank(accuracies, 10),
                        .p50 = nearest_rank(accuracies, 50),
                        .p90 = nearest_rank(accuracies, 90)};
}

}  // namespace muster
