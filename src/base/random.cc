#include "base/random.h"

#include <Random123/philox.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <unordered_set>

#include "base/check.h"

namespace muster {
namespace {

// SplitMix64's finaliser: spreads a 64-bit value over all its bits.
std::uint64_t mix(std::uint64_t x) {
  x ^= x >> 30;
  x *= 0xbf58476d1ce4e5b9u;
  x ^= x >> 27;
  x *= 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

}  // namespace

// The Philox key carries (seed, purpose, part); the counter's upper words carry (round, id), its lower 64 bits count.
// Two names can only meet if the 64-bit mixes collide.
Stream::Stream(const StreamKey& key) {
  const std::uint64_t k = mix(key.seed + 0x9e3779b97f4a7c15u * (1 + static_cast<std::uint64_t>(key.purpose))) ^
                          mix(~std::uint64_t{key.part});
  key_ = {static_cast<std::uint32_t>(k), static_cast<std::uint32_t>(k >> 32)};
  counter_ = {0, 0, key.round, key.id};
}

void Stream::refill() {
  r123::Philox4x32 philox;
  const auto out = philox({{counter_[0], counter_[1], counter_[2], counter_[3]}}, {{key_[0], key_[1]}});
  for (unsigned i = 0; i < 4; ++i) block_[i] = out[i];
  if (++counter_[0] == 0) ++counter_[1];
  used_ = 0;
}

std::uint32_t Stream::next() {
  if (used_ == 4) refill();
  return block_[used_++];
}

std::uint64_t Stream::next64() {
  const std::uint64_t high = next();
  return (high << 32) | next();
}

double Stream::uniform() {
  return static_cast<double>(next64() >> 11) * 0x1.0p-53;
}

std::uint32_t Stream::below(std::uint32_t bound) {
  MUSTER_CHECK(bound > 0, "bound {}", bound);
  // Lemire's multiply-shift with rejection of the biased remainder.
  std::uint64_t product = std::uint64_t{next()} * bound;
  if (auto low = static_cast<std::uint32_t>(product); low < bound) {
    const std::uint32_t threshold = -bound % bound;
    while (low < threshold) {
      product = std::uint64_t{next()} * bound;
      low = static_cast<std::uint32_t>(product);
    }
  }
  return static_cast<std::uint32_t>(product >> 32);
}

double Stream::normal() {
  if (has_spare_normal_) {
    has_spare_normal_ = false;
    return spare_normal_;
  }
  const double radius = std::sqrt(-2.0 * std::log1p(-uniform()));
  const double angle = 2.0 * std::numbers::pi * uniform();
  spare_normal_ = radius * std::sin(angle);
  has_spare_normal_ = true;
  return radius * std::cos(angle);
}

double Stream::log_gamma_draw(double shape) {
  MUSTER_CHECK(shape > 0 && shape <= std::numeric_limits<double>::max(), "shape {}", shape);
  // Gamma(a) = Gamma(a + 1) * U^(1/a): the second factor underflows for small a, its logarithm does not.
  double log_boost = 0;
  if (shape < 1) {
    log_boost = std::log1p(-uniform()) / shape;
    shape += 1;
  }
  // Marsaglia and Tsang.
  const double d = shape - 1.0 / 3.0;
  const double c = 1.0 / std::sqrt(9.0 * d);
  while (true) {
    const double x = normal();
    const double cube_root = 1.0 + c * x;
    if (cube_root <= 0) continue;
    const double v = cube_root * cube_root * cube_root;
    if (std::log1p(-uniform()) < 0.5 * x * x + d - d * v + d * std::log(v)) return std::log(d * v) + log_boost;
  }
}

void Stream::dirichlet(std::span<const double> concentration, std::span<double> probabilities) {
  MUSTER_CHECK(concentration.size() == probabilities.size(), "{} != {}", concentration.size(), probabilities.size());
  double largest = -std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < concentration.size(); ++i) {
    probabilities[i] = log_gamma_draw(concentration[i]);
    largest = std::max(largest, probabilities[i]);
  }
  // Concentrations below about 1e-306 overflow even the logarithms; their limit is all mass on one entry.
  if (largest == -std::numeric_limits<double>::infinity() && !probabilities.empty()) {
    probabilities[below(static_cast<std::uint32_t>(probabilities.size()))] = largest = 0;
  }
  double total = 0;
  for (double& p : probabilities) total += p = std::exp(p - largest);
  for (double& p : probabilities) p /= total;
}

std::vector<std::uint32_t> Stream::sample(std::uint32_t population, std::uint32_t count) {
  MUSTER_CHECK(count <= population, "{} of {}", count, population);
  std::unordered_set<std::uint32_t> chosen;
  chosen.reserve(count);
  for (std::uint32_t j = population - count; j < population; ++j) {
    if (!chosen.insert(below(j + 1)).second) chosen.insert(j);
  }
  std::vector<std::uint32_t> result(chosen.begin(), chosen.end());
  std::sort(result.begin(), result.end());
  return result;
}

}  // namespace muster
