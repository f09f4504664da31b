// Standardising by sums: whatever the rows are divided into, mean and deviation are those of all of them, to the last
// bits; sums of one client are those of a single pass over its rows.
#include "data/feature_sums.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/random.h"

namespace muster {
namespace {

constexpr float kNone = std::numeric_limits<float>::quiet_NaN();

TEST(FeatureSums, AreCountSumAndSquaresAboutTheMean) {
  const std::vector<float> values{1, 10, 3, 30, 5, kNone};
  const auto sums = sums_of(values, 2, 2, owned_rows(3, {}, 0, {}));
  EXPECT_EQ(sums[0], (FeatureSums{.count = 3, .sum = 9, .squares = 8}));
  EXPECT_EQ(sums[1], (FeatureSums{.count = 2, .sum = 40, .squares = 200}));
}

TEST(FeatureSums, TestRowsAreLeftOut) {
  const std::vector<float> values{1, 2, 3, 100};
  EXPECT_EQ(sums_of(values, 1, 1, owned_rows(4, {}, 0, {false, false, false, true}))[0].count, 3u);
}

TEST(FeatureSums, ThoseOfClientsAreMergedInTheirOrder) {
  std::vector<float> values;
  std::vector<std::uint32_t> owners;
  Stream stream({.seed = 5, .purpose = Purpose::kTest});
  // A mean that is large beside the deviation: plain sums of squares would have no digit left.
  for (int i = 0; i < 3000; ++i) {
    values.push_back(1e6f + static_cast<float>(stream.below(16)));
    owners.push_back(stream.below(7));
  }
  std::vector<FeatureSums> told;
  for (std::uint32_t k = 0; k < 7; ++k) {
    std::vector<float> own;
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (owners[i] == k) own.push_back(values[i]);
    }
    merge(sums_of(own, 1, 1, owned_rows(own.size(), {}, 0, {})), told);
  }
  const auto of_table = sums_of(values, 1, 1, owned_rows(values.size(), owners, 7, {}));
  EXPECT_EQ(told, of_table) << "what clients tell has the bits of what a table of all has";
  const auto of_one = sums_of(values, 1, 1, owned_rows(values.size(), {}, 0, {}));
  EXPECT_EQ(told[0].count, of_one[0].count);
  EXPECT_NEAR(std::sqrt(told[0].squares / 3000), std::sqrt(of_one[0].squares / 3000), 1e-9);
}

TEST(FeatureSums, NoneChangesNoBit) {
  const FeatureSums some{.count = 3, .sum = 0.1, .squares = 1.0 / 3};
  EXPECT_EQ(merged(some, {}), some);
  EXPECT_EQ(merged({}, some), some);
}

TEST(FeatureSums, ADeviationThatNoFloatCanBeDividedByIsNone) {
  std::vector<float> scale;
  std::vector<float> offset;
  standardise(std::vector<FeatureSums>{{.count = 4, .sum = 0, .squares = 1e-300}}, 0, scale, offset);
  EXPECT_THAT(scale, testing::ElementsAre(0));
}

TEST(FeatureSums, AFeatureWithoutSumsStaysAsItIs) {
  std::vector<float> scale;
  std::vector<float> offset;
  standardise(std::vector<FeatureSums>{{}, {.count = 4, .sum = 8, .squares = 16}, {.count = 2, .sum = 6}}, 0, scale,
              offset);
  EXPECT_THAT(scale, testing::ElementsAre(1, 0.5f, 0));
  EXPECT_THAT(offset, testing::ElementsAre(0, -1, 0));
}

}  // namespace
}  // namespace muster
