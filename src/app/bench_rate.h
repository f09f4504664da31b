// What several measurements of one thing tell: the middle of them, and how far they spread.
#pragma once

#include <vector>

namespace muster {

struct Rate {
  double median = 0;
  double lowest = 0;
  double highest = 0;
};
// Precondition: not empty.
[[nodiscard]] Rate rate_of(std::vector<double> windows);

}  // namespace muster
