// Fractions of any size against each other, exactly.
#pragma once

#include <utility>

#include "grouping/label_spread.h"

namespace muster {

// The sign of a / b - c / d by Euclid's algorithm: no product, so nothing can overflow.
inline int compare_fractions(uint128 a, uint128 b, uint128 c, uint128 d) {
  for (int sign = 1;; sign = -sign) {
    if (a / b != c / d) return a / b < c / d ? -sign : sign;
    a %= b;
    c %= d;
    if (a == 0 || c == 0) return a == c ? 0 : (a == 0 ? -sign : sign);
    std::swap(a, b);
    std::swap(c, d);
  }
}

}  // namespace muster
