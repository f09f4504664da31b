// What a client computes of itself: noisy counts, confidence, a part of its weights.
#include "profile/formulas.h"

#include <cmath>
#include <limits>
#include <numeric>

namespace muster {
namespace {

using ::testing::ElementsAre;
using ::testing::FloatNear;

using Counts = std::vector<std::uint32_t>;

TEST(NoisyCounts, HaveTheMeanAndVarianceOfLaplace) {
  const double epsilon = 0.5;  // scale 2: variance 2 * 2^2 = 8, and 1/12 from rounding
  const Counts counts{1000, 5000};
  double sum = 0;
  double squares = 0;
  constexpr int kClients = 20000;
  for (std::uint32_t k = 0; k < kClients; ++k) {
    const NoiseDraws stream = seeded_noise(1, ClientId{k});
    const Counts noisy = noisy_counts(counts, epsilon, stream);
    for (std::size_t c = 0; c < counts.size(); ++c) {
      const double noise = double{1.0 * noisy[c]} - counts[c];
      sum += noise;
      squares += noise * noise;
    }
  }
  const double n = 2.0 * kClients;
  EXPECT_NEAR(sum / n, 0, 0.06);  // standard deviation 0.014
  EXPECT_NEAR(squares / n, 8 + 1.0 / 12, 0.4);
}

// The ratio that differential privacy bounds: one more sample shifts the law by one.
TEST(NoisyCounts, OneSampleChangesNoOutcomeByMoreThanEpsilon) {
  const double epsilon = 1;
  constexpr int kClients = 60000;
  std::vector<int> with(40);
  std::vector<int> without(40);
  for (std::uint32_t k = 0; k < kClients; ++k) {
    const NoiseDraws a = seeded_noise(2, ClientId{k});
    const NoiseDraws b = seeded_noise(3, ClientId{k});
    ++with[std::min(39u, noisy_counts(Counts{21}, epsilon, a)[0])];
    ++without[std::min(39u, noisy_counts(Counts{20}, epsilon, b)[0])];
  }
  for (std::size_t value = 16; value <= 25; ++value) {
    const double ratio = std::log(static_cast<double>(with[value]) / without[value]);
    EXPECT_LE(std::abs(ratio), epsilon + 0.3) << value;
  }
}

TEST(NoisyCounts, RepeatForAClientAndDifferBetweenClients) {
  const Counts counts{10, 20, 30, 40};
  const NoiseDraws a = seeded_noise(1, ClientId{4});
  const NoiseDraws again = seeded_noise(1, ClientId{4});
  const NoiseDraws other = seeded_noise(1, ClientId{5});
  const Counts noisy = noisy_counts(counts, 0.2, a);
  EXPECT_EQ(noisy, noisy_counts(counts, 0.2, again));
  EXPECT_NE(noisy, noisy_counts(counts, 0.2, other));
  EXPECT_NE(noisy, counts);
}

TEST(NoisyCounts, StayUsableUnderAnyNoise) {
  for (const double epsilon : {1e-300, 1e-6, 0.1, 1e6}) {
    for (std::uint32_t k = 0; k < 300; ++k) {
      const NoiseDraws stream = seeded_noise(1, ClientId{k});
      const Counts noisy = noisy_counts(Counts{0, 1, 0}, epsilon, stream);
      EXPECT_GT(std::accumulate(noisy.begin(), noisy.end(), std::uint64_t{0}), 0u) << epsilon;
    }
  }
  const NoiseDraws stream = seeded_noise(1, ClientId{0});
  EXPECT_EQ(noisy_counts(Counts{3, 0, 7}, 1e6, stream), (Counts{3, 0, 7}));
}

// Three exemplars, one of each class.
const std::vector<float> kLogits{2, 0, 0, 1, 1, 0, 0.5f, 0, 0.2f};
const std::vector<std::int32_t> kLabels{0, 1, 2};

TEST(Confidence, FollowsTheWorkedExampleInBothForms) {
  EXPECT_THAT(confidence_vector({kLogits, 3}, kLabels, 3, "shares"),
              ElementsAre(FloatNear(0.516089f, 1e-6f), FloatNear(0.276948f, 1e-6f), FloatNear(0.206963f, 1e-6f)));
  EXPECT_THAT(confidence_vector({kLogits, 3}, kLabels, 3, "softmax"),
              ElementsAre(FloatNear(0.431302f, 1e-6f), FloatNear(0.299508f, 1e-6f), FloatNear(0.269191f, 1e-6f)));
}

TEST(Confidence, AClassWithoutExemplarsHasNone) {
  const std::vector<float> confidence = confidence_vector({kLogits, 3}, std::vector<std::int32_t>{0, 0, 2}, 3, "");
  EXPECT_EQ(confidence[1], 0);
  EXPECT_FLOAT_EQ(confidence[0] + confidence[2], 1);
}

TEST(Confidence, OneLogitIsTwoClasses) {
  const std::vector<float> logits{0, static_cast<float>(std::log(3.0))};
  EXPECT_THAT(confidence_vector({logits, 1}, std::vector<std::int32_t>{0, 1}, 2, "shares"),
              ElementsAre(FloatNear(0.4f, 1e-6f), FloatNear(0.6f, 1e-6f)));
}

TEST(Confidence, LargeLogitsDoNotOverflowAndBrokenOnesShow) {
  const std::vector<float> large{1e30f, 0, 0, 1e30f};
  EXPECT_THAT(confidence_vector({large, 2}, std::vector<std::int32_t>{0, 1}, 2, "shares"), ElementsAre(0.5f, 0.5f));
  // Sure of the wrong class everywhere: nothing to divide by.
  EXPECT_THAT(confidence_vector({large, 2}, std::vector<std::int32_t>{1, 0}, 2, "shares"), ElementsAre(0.5f, 0.5f));
  const std::vector<float> broken{std::numeric_limits<float>::quiet_NaN(), 0};
  EXPECT_TRUE(std::isnan(confidence_vector({broken, 2}, std::vector<std::int32_t>{0}, 2, "shares")[0]));
}

std::shared_ptr<const Network> network_of(const ModelOptions& options, Shape input, std::uint32_t classes) {
  auto network = make_network(options, input, classes);
  EXPECT_TRUE(network.ok());
  return *network;
}

TEST(ClassifierRanges, AreWeightsFromTheEndWithoutBiases) {
  const auto network = network_of({.name = "mlp", .hidden = {5, 4}}, {1, 1, 3}, 2);
  std::vector<float> flat(network->size());
  std::iota(flat.begin(), flat.end(), 0.0f);
  // 3 x 5 + 5, 5 x 4 + 4, 4 x 2 + 2.
  const auto sizes = [&](const char* layers, bool bias) {
    const auto ranges = classifier_ranges(*network, layers, bias);
    std::vector<std::size_t> result;
    for (const ParameterRange& range : *ranges) result.push_back(range.size);
    return result;
  };
  EXPECT_THAT(sizes("last", false), ElementsAre(8));
  EXPECT_THAT(sizes("last-two", false), ElementsAre(20, 8));
  EXPECT_THAT(sizes("all", false), ElementsAre(15, 20, 8));
  EXPECT_THAT(sizes("all", true), ElementsAre(20, 24, 10));
  const auto last = classifier_ranges(*network, "last", true);
  EXPECT_EQ((*last)[0].offset, network->last_layer().offset);
  EXPECT_EQ((*last)[0].size, network->last_layer().size);
  EXPECT_EQ(gather_ranges(flat, *last), std::vector<float>(flat.end() - 10, flat.end()));
  const std::vector<float> two = gather_ranges(flat, *classifier_ranges(*network, "last-two", false));
  ASSERT_EQ(two.size(), 28u);
  EXPECT_EQ(two[0], 20);   // after the first layer
  EXPECT_EQ(two[20], 44);  // after the second layer's biases
}

TEST(ClassifierRanges, LeaveConvolutionsOut) {
  const auto network = network_of({.name = "lenet5"}, {32, 32, 3}, 10);
  std::size_t all = 0;
  const auto ranges = classifier_ranges(*network, "all", false);
  for (const ParameterRange& range : *ranges) {
    EXPECT_GE(range.offset, network->features().size);
    all += range.size;
  }
  EXPECT_EQ(ranges->size(), 3u);
  EXPECT_EQ(all, 690048u);  // FedSeq's psi_clf of all layers for ten classes
}

TEST(ClassifierRanges, TooFewLayersIsAnError) {
  const auto network = network_of({.name = "softmax"}, {1, 1, 3}, 2);
  EXPECT_TRUE(classifier_ranges(*network, "last", false).ok());
  EXPECT_TRUE(classifier_ranges(*network, "all", false).ok());
  EXPECT_EQ(classifier_ranges(*network, "last-two", false).error().message,
            "profile.layers: \"last-two\", but the network has 1 dense layer at its end");
}

}  // namespace
}  // namespace muster
