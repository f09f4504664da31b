#include "data/blobs.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/random.h"

namespace muster {
namespace {

constexpr std::uint32_t kSide = 28;
constexpr std::uint32_t kMargin = 3;  // largest shift, in pixels
constexpr std::uint32_t kPadded = kSide + 2 * kMargin;
constexpr std::uint32_t kClasses = 10;
constexpr std::uint64_t kSeed = 28;

using Pattern = std::array<float, std::size_t{kPadded} * kPadded>;

Pattern draw_pattern(std::uint32_t label) {
  Stream stream({.seed = kSeed, .purpose = Purpose::kSynthetic, .id = label, .part = 1});
  Pattern pattern{};
  constexpr int kSpots = 6;
  for (int spot = 0; spot < kSpots; ++spot) {
    const double y = kPadded * (0.2 + 0.6 * stream.uniform());
    const double x = kPadded * (0.2 + 0.6 * stream.uniform());
    const double radius = 2.0 + 2.5 * stream.uniform();
    for (std::uint32_t i = 0; i < kPadded; ++i) {
      for (std::uint32_t j = 0; j < kPadded; ++j) {
        const double squared = (i - y) * (i - y) + (j - x) * (j - x);
        float& pixel = pattern[std::size_t{i} * kPadded + j];
        pixel = std::max(pixel, static_cast<float>(std::exp(-squared / (2 * radius * radius))));
      }
    }
  }
  return pattern;
}

Samples draw_samples(const std::array<Pattern, kClasses>& patterns, std::uint32_t count, std::uint32_t part) {
  Samples samples;
  samples.storage = Samples::Storage::kBytes;
  samples.shape = {kSide, kSide, 1};
  samples.classes = kClasses;
  samples.labels.reserve(count);
  samples.bytes.resize(std::size_t{count} * kSide * kSide);
  std::uint8_t* pixel = samples.bytes.data();
  Stream stream({.seed = kSeed, .purpose = Purpose::kSynthetic, .part = part});
  for (std::uint32_t n = 0; n < count; ++n) {
    const std::uint32_t label = n % kClasses;
    const Pattern& own = patterns[label];
    const Pattern& other = patterns[stream.below(kClasses)];
    const auto strength = static_cast<float>(90 + 110 * stream.uniform());
    const auto mixed = static_cast<float>(0.6 * stream.uniform());
    const std::size_t shift = std::size_t{stream.below(2 * kMargin + 1)} * kPadded + stream.below(2 * kMargin + 1);
    samples.labels.push_back(static_cast<std::int32_t>(label));
    for (std::uint32_t i = 0; i < kSide; ++i) {
      std::array<std::int32_t, kSide> halves;
      for (std::uint32_t j = 0; j < kSide; j += 2) {
        const std::uint32_t bits = stream.next();
        halves[j] = static_cast<std::int32_t>(bits & 0xffff);
        halves[j + 1] = static_cast<std::int32_t>(bits >> 16);
      }
      const float* const one = own.data() + shift + std::size_t{i} * kPadded;
      const float* const two = other.data() + shift + std::size_t{i} * kPadded;
      std::array<std::int32_t, kSide> row;
      for (std::uint32_t j = 0; j < kSide; ++j) {
        // Noise per pixel: the sum of two bytes, triangular around 0 with a deviation of about 52.
        const float noise = static_cast<float>((halves[j] & 0xff) + (halves[j] >> 8) - 255) / 2;
        const float value = strength * (one[j] * (1 - mixed) + two[j] * mixed) + noise;
        row[j] = static_cast<std::int32_t>(std::min(std::max(value, 0.0f), 255.0f));
      }
      for (std::uint32_t j = 0; j < kSide; ++j) pixel[j] = static_cast<std::uint8_t>(row[j]);
      pixel += kSide;
    }
  }
  return samples;
}

}  // namespace

RawData make_blobs() {
  std::array<Pattern, kClasses> patterns;
  for (std::uint32_t c = 0; c < kClasses; ++c) patterns[c] = draw_pattern(c);
  RawData data;
  data.train = draw_samples(patterns, 12000, 2);
  data.test = draw_samples(patterns, 2000, 3);
  return data;
}

}  // namespace muster
