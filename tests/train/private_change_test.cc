// A member's share of a private sum: how long it is, how much noise there is in the sum of the fewest members that may
// survive, and that all of it are whole numbers.
#include "train/private_change.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "base/random.h"
#include "secure/key_source.h"

namespace muster {
namespace {

constexpr std::uint32_t kThreshold = 4;

ChangeNoise drawn_from(Stream& stream) {
  return [&](const PublicBytes&) { return [&] { return stream.uniform(); }; };
}

// What one member gives, in numbers of its model.
std::vector<double> given(const PrivacyOptions& privacy, const FixedPoint& format, std::vector<float> model,
                          std::uint32_t client) {
  const std::vector<float> start(model.size(), 0.5f);
  for (float& value : model) value += 0.5f;
  LocalUpdate update{.client = {client}, .model = std::move(model), .samples = 7};
  Stream stream({.seed = 3, .purpose = Purpose::kTest, .id = client});
  const auto words = encode_private_change(format, privacy, kThreshold, start, update, drawn_from(stream));
  EXPECT_TRUE(words.ok()) << words.error().message;
  const auto decoded = decode_sum(format, *words, {.weighted = start.size()}, 1);
  EXPECT_TRUE(decoded.ok()) << decoded.error().message;
  EXPECT_EQ(decoded->weight, 1u) << "all count alike, whatever they have";
  std::vector<double> values = decoded->mean;
  for (double& value : values) value /= private_scale(privacy, kThreshold);
  return values;
}

double length(const std::vector<double>& values) {
  double squares = 0;
  for (const double value : values) squares += value * value;
  return std::sqrt(squares);
}

TEST(PrivateChange, IsNeverLongerThanTheClip) {
  const PrivacyOptions silent{.clip = 0.75, .noise_multiplier = 0};
  for (const std::uint32_t fraction_bits : {8u, 16u, 26u}) {
    const FixedPoint format{.bits = 32, .fraction_bits = fraction_bits, .most_weight = 1};
    Stream stream({.seed = 1, .purpose = Purpose::kTest});
    for (int trial = 0; trial < 50; ++trial) {
      std::vector<float> change(1 + stream.below(200));
      for (float& value : change) value = static_cast<float>(stream.normal());
      EXPECT_LE(length(given(silent, format, change, 0)), 0.75);
    }
    const std::vector<double> within = given(silent, format, {0.25f, -0.5f, 0.0f}, 0);
    const double step = std::ldexp(1.0, -static_cast<int>(fraction_bits)) / private_scale(silent, kThreshold);
    EXPECT_NEAR(within[0], 0.25, step);
    EXPECT_NEAR(within[1], -0.5, step);
    EXPECT_EQ(within[2], 0.0);
  }
}

TEST(PrivateChange, OfTheFewestSurvivorsHasAllOfTheNoise) {
  const PrivacyOptions privacy{.clip = 0.5, .noise_multiplier = 3};
  const FixedPoint format{.bits = 32, .fraction_bits = 20, .most_weight = 1};
  constexpr std::size_t kValues = 60'000;
  std::vector<double> sum(kValues);
  for (std::uint32_t member = 0; member < kThreshold; ++member) {
    const std::vector<double> own = given(privacy, format, std::vector<float>(kValues), member);
    for (std::size_t i = 0; i < kValues; ++i) sum[i] += own[i];
  }
  const double deviation = length(sum) / std::sqrt(double{kValues});
  EXPECT_NEAR(deviation, 1.5, 0.015);
}

TEST(PrivateChange, RefusesFormatsTooCoarseForItsNoise) {
  const PrivacyOptions faint{.clip = 1, .noise_multiplier = 0.001};
  const std::vector<float> start(3);
  LocalUpdate update{.model = {0.1f, 0.2f, 0.3f}};
  Stream stream({.seed = 3, .purpose = Purpose::kTest});
  const auto words = encode_private_change({.bits = 32, .fraction_bits = 8, .most_weight = 1}, faint, kThreshold, start,
                                           update, drawn_from(stream));
  ASSERT_FALSE(words.ok());
  EXPECT_EQ(words.error().message, "noise of 2 steps, want at least 8");
}

// What a sum shows that is begun again, or that another one is compared with.
TEST(PrivateChange, HasSecretNoiseThatBelongsToIt) {
  const NoiseKey key{SeededKeys({.seed = 1}).key()};
  const FixedPoint format{.bits = 32, .fraction_bits = 20, .most_weight = 1};
  const std::vector<float> start(500);
  struct Asked {
    float value = 0.01f;
    double multiplier = 2;
    std::uint32_t threshold = kThreshold;
    std::uint32_t round = 1;
    ClientId client{4};
  };
  // The noise alone, in deviations.
  const auto noise = [&](const Asked& asked, const NoiseKey& by) {
    const PrivacyOptions privacy{.clip = 1, .noise_multiplier = asked.multiplier};
    const auto words_of = [&](const PrivacyOptions& how) {
      LocalUpdate update{.model = std::vector<float>(start.size(), asked.value)};
      const auto words = encode_private_change(format, how, asked.threshold, start, update,
                                               secret_change_noise(by, asked.round, asked.client));
      EXPECT_TRUE(words.ok());
      std::vector<double> values = decode_sum(format, *words, {.weighted = start.size()}, 1)->mean;
      for (double& value : values) value /= private_scale(how, asked.threshold);
      return values;
    };
    std::vector<double> with = words_of(privacy);
    for (double& value : with) value = (value - asked.value) / asked.multiplier * std::sqrt(double(asked.threshold));
    return with;
  };
  const auto alike = [&](const std::vector<double>& a, const std::vector<double>& b) {
    double product = 0;
    for (std::size_t i = 0; i < a.size(); ++i) product += a[i] * b[i];
    return product / (length(a) * length(b));
  };
  const std::vector<double> first = noise({}, key);
  EXPECT_EQ(noise({}, key), first) << "a sum that is begun again";
  EXPECT_LT(std::abs(alike(noise({}, NoiseKey{SeededKeys({.seed = 2}).key()}), first)), 0.2);
  EXPECT_LT(std::abs(alike(noise({.value = 0.0101f}, key), first)), 0.2) << "or the difference would have no noise";
  EXPECT_LT(std::abs(alike(noise({.multiplier = 4}, key), first)), 0.2) << "or it could be solved for";
  EXPECT_LT(std::abs(alike(noise({.threshold = 3}, key), first)), 0.2);
  EXPECT_LT(std::abs(alike(noise({.round = 2}, key), first)), 0.2);
  EXPECT_LT(std::abs(alike(noise({.client = {5}}, key), first)), 0.2);
}

// Against the probabilities that define it, exp(-k^2 / (2 s^2)) over their sum.
TEST(PrivateChange, DrawsTheDiscreteGaussian) {
  for (const double deviation : {0.7, 3.0, 9.5}) {
    Stream stream({.seed = 8, .purpose = Purpose::kTest});
    constexpr int kDraws = 200'000;
    std::map<std::int64_t, int> counts;
    for (int i = 0; i < kDraws; ++i) ++counts[discrete_gaussian(deviation, [&] { return stream.uniform(); })];
    double all = 0;
    for (int k = -200; k <= 200; ++k) all += std::exp(-k * k / (2 * deviation * deviation));
    for (int k = -3; k <= 3; ++k) {
      const double wanted = std::exp(-k * k / (2 * deviation * deviation)) / all;
      const double error = 4.5 * std::sqrt(wanted * (1 - wanted) / kDraws);
      EXPECT_NEAR(static_cast<double>(counts[k]) / kDraws, wanted, error) << k << " at " << deviation;
    }
  }
}

// Nothing is learnt by asking again, nor by asking for another epsilon.
TEST(CountNoise, IsAFunctionOfKeyClientCountsAndEpsilon) {
  const std::vector<std::uint32_t> counts{40, 0, 17};
  NoiseKey key;
  std::ranges::fill(std::span(key.bytes.data(), SecretKey::size()), std::uint8_t{5});
  NoiseKey another = key;
  another.bytes.data()[3] ^= 1;
  const auto drawn = [&](const NoiseKey& by, ClientId client, const std::vector<std::uint32_t>& of, double epsilon) {
    const NoiseDraws draws = secret_count_noise(by, client, of, epsilon);
    return std::pair(draws.uniform(), draws.uniform());
  };
  const auto usual = drawn(key, {3}, counts, 0.5);
  EXPECT_EQ(drawn(key, {3}, counts, 0.5), usual);
  EXPECT_NE(drawn(another, {3}, counts, 0.5), usual);
  EXPECT_NE(drawn(key, {4}, counts, 0.5), usual);
  EXPECT_NE(drawn(key, {3}, {40, 1, 17}, 0.5), usual);
  EXPECT_NE(drawn(key, {3}, counts, 0.25), usual);
  const NoiseDraws draws = secret_count_noise(key, {3}, counts, 0.5);
  std::uint32_t heads = 0;
  for (std::uint32_t i = 0; i < 10'000; ++i) heads += draws.coin() ? 1 : 0;
  EXPECT_NEAR(heads, 5000, 250);
}

}  // namespace
}  // namespace muster
