#include "train/private_change.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "secure/key_agreement.h"

namespace muster {
namespace {

constexpr double kDeviationsThatFit = 10;
constexpr double kLeastSteps = 8;  // of deviation, for sums of discrete Gaussians to be one

// Of one member, as a multiple of the clip.
double share_of_noise(const PrivacyOptions& privacy, std::uint32_t threshold) {
  return privacy.noise_multiplier / std::sqrt(static_cast<double>(threshold));
}

}  // namespace

double private_scale(const PrivacyOptions& privacy, std::uint32_t threshold) {
  return kLargestValue / (*privacy.clip * (1 + kDeviationsThatFit * share_of_noise(privacy, threshold)));
}

// Algorithm 3 of Canonne, Kamath and Steinke: a discrete Laplace draw of scale t, which is kept with the probability
// exp(-(|y| - s^2 / t)^2 / (2 s^2)).
std::int64_t discrete_gaussian(double deviation, const std::function<double()>& uniform) {
  const double t = std::floor(deviation) + 1;
  const double square = deviation * deviation;
  while (true) {
    // Whole part of an exponential: geometric.
    const double size = std::floor(-t * std::log1p(-uniform()));
    const bool negative = uniform() < 0.5;
    if (negative && size == 0) continue;
    const double off = size - square / t;
    if (uniform() >= std::exp(-off * off / (2 * square))) continue;
    return static_cast<std::int64_t>(negative ? -size : size);
  }
}

Result<Words> encode_private_change(const FixedPoint& format, const PrivacyOptions& privacy, std::uint32_t threshold,
                                    std::span<const float> start, LocalUpdate& update, const ChangeNoise& noise) {
  double squares = 0;
  for (std::size_t i = 0; i < start.size(); ++i) {
    update.model[i] -= start[i];
    squares += double{update.model[i]} * update.model[i];
  }
  if (!std::isfinite(squares)) return failure("a change that is not finite");
  const double steps = std::ldexp(1.0, static_cast<int>(format.fraction_bits));
  const double per_step = private_scale(privacy, threshold) * steps;
  const double deviation = *privacy.clip * share_of_noise(privacy, threshold) * per_step;
  if (deviation > 0 && deviation < kLeastSteps) {
    return failure("noise of {:.2g} steps, want at least {}", deviation, kLeastSteps);
  }
  // A hair less, for the rounding of products.
  const double shortened = std::min(1.0, *privacy.clip / std::max(std::sqrt(squares), 1e-300)) * (1 - 1e-12);
  const double largest = kLargestValue * steps;
  std::vector<double> numbers(start.size() + 1);  // and what tells different amounts of noise apart
  for (std::size_t i = 0; i < start.size(); ++i) {
    numbers[i] = std::trunc(double{update.model[i]} * shortened * per_step);
  }
  if (deviation > 0) {
    numbers.back() = deviation;
    const std::function<double()> uniform = noise(digest_of(std::as_bytes(std::span(numbers))));
    for (std::size_t i = 0; i < start.size(); ++i) {
      numbers[i] += static_cast<double>(discrete_gaussian(deviation, uniform));
    }
  }
  Words words = zero_words(format.bits, start.size() + 1);
  std::visit(
      [&](auto& values) {
        using Word = typename std::remove_reference_t<decltype(values)>::value_type;
        for (std::size_t i = 0; i < start.size(); ++i) {
          const auto whole = static_cast<std::int64_t>(std::clamp(numbers[i], -largest, largest));
          values[i] = static_cast<Word>(static_cast<std::uint64_t>(whole));
        }
        values.back() = 1;
      },
      words);
  sodium_memzero(numbers.data(), numbers.size() * sizeof numbers[0]);
  return words;
}

ChangeNoise secret_change_noise(const NoiseKey& key, std::uint32_t round, ClientId client) {
  return [&key, round, client](const PublicBytes& change) {
    auto stream = std::make_shared<SecretStream>(
        derive_key(key.bytes, "noise of a member's change", change, round, client.value));
    return [stream] { return stream->uniform(); };
  };
}

NoiseDraws secret_count_noise(const NoiseKey& key, ClientId client, std::span<const std::uint32_t> counts,
                              double epsilon) {
  std::vector<double> about(counts.begin(), counts.end());
  about.push_back(epsilon);
  const auto stream = std::make_shared<SecretStream>(derive_key(
      key.bytes, "noise of a client's label counts", digest_of(std::as_bytes(std::span(about))), client.value, 0));
  sodium_memzero(about.data(), about.size() * sizeof about[0]);
  return {[stream] { return stream->uniform(); }, [stream] { return stream->uniform() < 0.5; }};
}

}  // namespace muster
