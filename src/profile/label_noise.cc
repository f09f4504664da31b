// Laplace noise on label counts.
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include "profile/formulas.h"

namespace muster {

NoiseDraws seeded_noise(std::uint64_t seed, ClientId client) {
  const auto stream = std::make_shared<Stream>(StreamKey{.seed = seed, .purpose = Purpose::kNoise, .id = client.value});
  return {[stream] { return stream->uniform(); }, [stream] { return (stream->next() & 1u) != 0; }};
}

std::vector<std::uint32_t> noisy_counts(std::span<const std::uint32_t> counts, double epsilon,
                                        const NoiseDraws& draws) {
  std::vector<std::uint32_t> noisy(counts.size());
  double largest = -std::numeric_limits<double>::infinity();
  std::size_t largest_class = 0;
  for (std::size_t c = 0; c < counts.size(); ++c) {
    const double size = -std::log1p(-draws.uniform()) / epsilon;
    const double value = counts[c] + (draws.coin() ? size : -size);
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
