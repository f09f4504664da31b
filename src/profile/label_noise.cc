// Laplace noise on label counts.
#include <algorithm>
#include <cmath>
#include <limits>

#include "profile/formulas.h"

namespace muster {

Stream noise_stream(std::uint64_t seed, ClientId client) {
  return Stream({.seed = seed, .purpose = Purpose::kNoise, .id = client.value});
}

std::vector<std::uint32_t> noisy_counts(std::span<const std::uint32_t> counts, double epsilon, Stream& stream) {
  std::vector<std::uint32_t> noisy(counts.size());
  double largest = -std::numeric_limits<double>::infinity();
  std::size_t largest_class = 0;
  for (std::size_t c = 0; c < counts.size(); ++c) {
    const double size = -std::log1p(-stream.uniform()) / epsilon;
    const double value = counts[c] + (stream.next() & 1u ? size : -size);
    if (value > largest) {
      largest = value;
      largest_class = c;
    }
    noisy[c] = static_cast<std::uint32_t>(
        std::clamp(std::floor(value + 0.5), 0.0, static_cast<double>(std::numeric_limits<std::uint32_t>::max())));
  }
  const bool nothing = std::all_of(noisy.begin(), noisy.end(), [](std::uint32_t count) { return count == 0; });
  if (nothing && !noisy.empty()) noisy[largest_class] = 1;
  return noisy;
}

}  // namespace muster
