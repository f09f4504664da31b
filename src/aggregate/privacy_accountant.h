// Rényi accountant of differential privacy: what a sequence of private answers costs together. Mechanisms add their
// Rényi divergence at a list of orders; the sum is turned into epsilon at a delta. Sums never decrease.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"

namespace muster {

// Of the Gaussian mechanism with deviation `noise_multiplier` times the sensitivity, of which each contributor is part
// with probability `share` (Mironov, Talwar, Zhang 2019): exact sums for whole orders, the series of section 3.3 for
// others. Order > 1, share in [0, 1]; without noise infinite.
[[nodiscard]] double renyi_of_sampled_gaussian(double share, double noise_multiplier, double order);
// Of any epsilon-private mechanism: that of randomised response, which is the worst of them.
[[nodiscard]] double renyi_of_pure(double epsilon, double order);
// The least epsilon over the orders at `delta` (Canonne, Kamath, Steinke 2020, Proposition 12; Balle et al. 2020).
[[nodiscard]] double epsilon_of(std::span<const double> orders, std::span<const double> renyi, double delta);

class PrivacyAccountant {
 public:
  PrivacyAccountant();

  // 1.1, 1.2, ..., 10.9, 11, 12, ..., 63 and a few above.
  [[nodiscard]] static std::span<const double> orders();

  void add_sampled_gaussian(double share, double noise_multiplier, std::uint32_t times = 1);
  void add_pure(double epsilon);
  [[nodiscard]] double epsilon(double delta) const;

  // The sum at each order, for checkpoints. restore() refuses anything else.
  [[nodiscard]] std::span<const double> renyi() const { return renyi_; }
  [[nodiscard]] Status restore(std::span<const double> renyi);

 private:
  std::vector<double> renyi_;
  // The mechanism of the last round, which is that of most.
  double last_share_ = -1;
  double last_noise_ = -1;
  std::vector<double> last_;
};

}  // namespace muster
