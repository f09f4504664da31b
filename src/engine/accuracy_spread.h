// How the accuracies of clients spread: the worst and the percentiles, by nearest rank.
#pragma once

#include <span>
#include <vector>

#include "record/run_figures.h"

namespace muster {

// Of `sorted`, ascending, the value at place ceil(percent / 100 * n), counted from 1. Precondition: there is one, and
// 0 < percent <= 100.
[[nodiscard]] double nearest_rank(std::span<const double> sorted, std::uint32_t percent);

// Nothing of nobody.
[[nodiscard]] std::optional<AccuracySpread> spread_of(std::vector<double> accuracies);

}  // namespace muster
