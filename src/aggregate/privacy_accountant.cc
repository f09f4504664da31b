#include "aggregate/privacy_accountant.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check.h"

namespace muster {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNegligible = -30;  // natural logarithm of terms that no longer matter
constexpr double kSqrt2 = 1.4142135623730950488;

// log(e^a + e^b) and log(e^a - e^b), a >= b.
double log_sum(double a, double b) {
  const double larger = std::max(a, b);
  if (larger == -kInfinity) return larger;
  return larger + std::log1p(std::exp(std::min(a, b) - larger));
}
double log_difference(double a, double b) {
  if (b == -kInfinity) return a;
  return b >= a ? -kInfinity : a + std::log1p(-std::exp(b - a));
}

// Beyond 25 erfc() is too small for a double; its expansion is exact to the last digits there.
double log_erfc(double x) {
  if (x < 25) return std::log(std::erfc(x));
  const double s = 1 / (2 * x * x);
  return -x * x - std::log(x * std::sqrt(M_PI)) + std::log1p(-s + 3 * s * s - 15 * s * s * s);
}

double log_binomial(double n, double k) {
  return std::lgamma(n + 1) - std::lgamma(k + 1) - std::lgamma(n - k + 1);
}

// log of the expectation of (mixture / N(0, sigma^2))^order, which is a finite sum for whole orders.
double log_moment_whole(double q, double sigma, std::uint32_t order) {
  double sum = -kInfinity;
  for (std::uint32_t k = 0; k <= order; ++k) {
    sum = log_sum(sum, log_binomial(order, k) + k * std::log(q) + (order - k) * std::log1p(-q) +
                           k * (k - 1.0) / (2 * sigma * sigma));
  }
  return sum;
}

// The integral is cut where both parts of the mixture weigh the same, and each half is a series of binomial terms,
// whose signs alternate once the index has passed the order.
double log_moment(double q, double sigma, double order) {
  double below = -kInfinity;
  double above = -kInfinity;
  const double cut = sigma * sigma * std::log(1 / q - 1) + 0.5;
  double log_coefficient = 0;  // of |binomial(order, i)|
  bool negative = false;
  for (std::uint32_t i = 0;; ++i) {
    const double j = order - i;
    const double first = log_coefficient + i * std::log(q) + j * std::log1p(-q) + i * (i - 1.0) / (2 * sigma * sigma) +
                         std::log(0.5) + log_erfc((i - cut) / (kSqrt2 * sigma));
    const double second = log_coefficient + j * std::log(q) + i * std::log1p(-q) + (j * j - j) / (2 * sigma * sigma) +
                          std::log(0.5) + log_erfc((cut - j) / (kSqrt2 * sigma));
    below = negative ? log_difference(below, first) : log_sum(below, first);
    above = negative ? log_difference(above, second) : log_sum(above, second);
    if (i > order && std::max(first, second) < kNegligible) break;
    // binomial(order, i + 1) = binomial(order, i) * (order - i) / (i + 1)
    log_coefficient += std::log(std::abs(j)) - std::log1p(i);
    if (j < 0) negative = !negative;
  }
  return log_sum(below, above);
}

std::vector<double> all_orders() {
  std::vector<double> orders;
  for (int tenths = 11; tenths < 110; ++tenths) orders.push_back(tenths / 10.0);
  for (int order = 11; order < 64; ++order) orders.push_back(order);
  for (const int order : {80, 96, 128, 192, 256, 384, 512, 768, 1024}) orders.push_back(order);
  return orders;
}

}  // namespace

double renyi_of_sampled_gaussian(double share, double noise_multiplier, double order) {
  MUSTER_CHECK(order > 1 && share >= 0 && share <= 1, "order {}, share {}", order, share);
  if (share == 0) return 0;
  if (noise_multiplier <= 0) return kInfinity;
  if (share == 1) return order / (2 * noise_multiplier * noise_multiplier);
  const bool whole = order == std::floor(order);
  const double log = whole ? log_moment_whole(share, noise_multiplier, static_cast<std::uint32_t>(order))
                           : log_moment(share, noise_multiplier, order);
  return std::max(0.0, log / (order - 1));
}

double renyi_of_pure(double epsilon, double order) {
  // Randomised response answers truly with probability p = e^epsilon / (1 + e^epsilon).
  const double log_other = -log_sum(0, epsilon);
  const double log_true = epsilon + log_other;
  const double log = log_sum(order * log_true + (1 - order) * log_other, order * log_other + (1 - order) * log_true);
  return std::clamp(log / (order - 1), 0.0, epsilon);
}

double epsilon_of(std::span<const double> orders, std::span<const double> renyi, double delta) {
  double least = kInfinity;
  for (std::size_t i = 0; i < orders.size(); ++i) {
    const double order = orders[i];
    if (!std::isfinite(renyi[i])) continue;
    least = std::min(least, renyi[i] + std::log1p(-1 / order) - (std::log(delta) + std::log(order)) / (order - 1));
  }
  return std::max(0.0, least);
}

PrivacyAccountant::PrivacyAccountant() : renyi_(orders().size(), 0.0) {}

std::span<const double> PrivacyAccountant::orders() {
  static const std::vector<double> orders = all_orders();
  return orders;
}

void PrivacyAccountant::add_sampled_gaussian(double share, double noise_multiplier, std::uint32_t times) {
  if (share != last_share_ || noise_multiplier != last_noise_) {
    last_.clear();
    for (const double order : orders()) last_.push_back(renyi_of_sampled_gaussian(share, noise_multiplier, order));
    last_share_ = share;
    last_noise_ = noise_multiplier;
  }
  for (std::size_t i = 0; i < renyi_.size(); ++i) renyi_[i] += times * last_[i];
}

void PrivacyAccountant::add_pure(double epsilon) {
  for (std::size_t i = 0; i < renyi_.size(); ++i) renyi_[i] += renyi_of_pure(epsilon, orders()[i]);
}

double PrivacyAccountant::epsilon(double delta) const {
  // Nothing told, nothing spent: the conversion alone would give a little more at some deltas.
  if (std::ranges::all_of(renyi_, [](double value) { return value == 0; })) return 0;
  return epsilon_of(orders(), renyi_, delta);
}

Status PrivacyAccountant::restore(std::span<const double> renyi) {
  if (renyi.size() != renyi_.size() || std::ranges::any_of(renyi, [](double value) { return !(value >= 0); })) {
    return failure("checkpoint does not hold what privacy has cost so far");
  }
  renyi_.assign(renyi.begin(), renyi.end());
  return {};
}

}  // namespace muster
