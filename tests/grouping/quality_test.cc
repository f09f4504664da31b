#include "grouping/quality.h"

#include <cmath>

#include "grouping/grouping.h"

namespace muster {
namespace {

using Counts = std::vector<std::uint32_t>;

TEST(Quality, CoefficientOfVariationIsStandardDeviationOverMean) {
  EXPECT_NEAR(coefficient_of_variation(Counts{6, 2}), 0.5, 1e-12);
  EXPECT_NEAR(coefficient_of_variation(Counts{10, 0}), 1, 1e-12);
  EXPECT_NEAR(coefficient_of_variation(Counts{30, 10, 20}), 0.408248, 1e-6);
  EXPECT_NEAR(coefficient_of_variation(Counts{10, 0, 0, 0, 0, 0, 0, 0, 0, 0}), 3, 1e-12);
  EXPECT_TRUE(std::isinf(coefficient_of_variation(Counts{0, 0})));
}

TEST(Quality, ClassProbabilityDistanceHasItsClosedForm) {
  EXPECT_NEAR(class_probability_distance(Counts{5, 3, 2}, Counts{2, 3, 5}), 0.113782, 1e-6);
  EXPECT_NEAR(class_probability_distance(Counts{7, 0}, Counts{0, 3}), 1.264241, 1e-6);
  EXPECT_EQ(class_probability_distance(Counts{1, 1}, Counts{5, 5}), 0);
}

TEST(Quality, BalanceAndCoverage) {
  EXPECT_DOUBLE_EQ(balance_ratio(Counts{2, 8, 4}), 0.25);
  EXPECT_DOUBLE_EQ(balance_ratio(Counts{0, 0}), 0);
  EXPECT_DOUBLE_EQ(covered_classes(Counts{0, 3, 1, 0}), 0.5);
}

TEST(Quality, MedianIsOverAllPairs) {
  const std::vector<Counts> rows{{1, 0}, {0, 1}, {1, 1}};
  const GroupQuality quality = judge_groups(rows);
  // Distances: 2c, c/2, c/2 with c = 1 - 1/e.
  EXPECT_NEAR(quality.cpd_median, 0.5 * (1 - std::exp(-1)), 1e-12);
  EXPECT_NEAR(quality.cov_mean, 2.0 / 3, 1e-12);
  EXPECT_EQ(judge_groups({}).cpd_median, 0);
}

TEST(Singletons, LeaveClientsWithoutSamplesIdle) {
  const Counts samples{3, 0, 5};
  const Grouping grouping = group_singletons({.samples = samples});
  ASSERT_EQ(grouping.count(), 2u);
  EXPECT_EQ(grouping.members(GroupId{1})[0], ClientId{2});
  ASSERT_EQ(grouping.idle().size(), 1u);
  EXPECT_EQ(grouping.idle()[0], ClientId{1});
}

}  // namespace
}  // namespace muster
