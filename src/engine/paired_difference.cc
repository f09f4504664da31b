#include "engine/paired_difference.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace muster {

PairedDifference paired_difference(std::span<const std::optional<double>> a, std::span<const std::optional<double>> b) {
  MUSTER_CHECK(a.size() == b.size(), "{} != {}", a.size(), b.size());
  PairedDifference result;
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!a[i] || !b[i]) continue;
    ++result.pairs;
    sum += *a[i] - *b[i];
    result.better += *a[i] > *b[i] ? 1 : 0;
    result.worse += *a[i] < *b[i] ? 1 : 0;
  }
  if (result.pairs > 0) result.mean = sum / result.pairs;
  if (result.better + result.worse > 0) result.p = sign_test(result.better, result.worse);
  return result;
}

double sign_test(std::uint32_t wins, std::uint32_t losses) {
  const std::uint32_t n = wins + losses;
  MUSTER_CHECK(n > 0, "no coins");
  // 2 * sum over i <= min(wins, losses) of (n choose i) / 2^n; 2^-n is beyond a double from 1075 seeds on.
  long double term = std::ldexp(1.0L, -static_cast<int>(n));
  long double tail = 0;
  for (std::uint32_t i = 0; i <= std::min(wins, losses); ++i) {
    tail += term;
    term *= static_cast<long double>(n - i) / (i + 1);
  }
  return static_cast<double>(std::min(1.0L, 2 * tail));
}

}  // namespace muster
