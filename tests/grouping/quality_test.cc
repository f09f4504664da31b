#include "grouping/quality.h"

#include <algorithm>
#include <cmath>

#include "grouping/grouping.h"

namespace muster {
namespace {

using GroupCounts = std::vector<std::uint64_t>;

TEST(Quality, CoefficientOfVariationIsStandardDeviationOverMean) {
  EXPECT_NEAR(coefficient_of_variation(GroupCounts{6, 2}), 0.5, 1e-12);
  EXPECT_NEAR(coefficient_of_variation(GroupCounts{10, 0}), 1, 1e-12);
  EXPECT_NEAR(coefficient_of_variation(GroupCounts{30, 10, 20}), 0.408248, 1e-6);
  EXPECT_NEAR(coefficient_of_variation(GroupCounts{10, 0, 0, 0, 0, 0, 0, 0, 0, 0}), 3, 1e-12);
  EXPECT_TRUE(std::isinf(coefficient_of_variation(GroupCounts{0, 0})));
}

TEST(Quality, ClassProbabilityDistanceHasItsClosedForm) {
  EXPECT_NEAR(class_probability_distance(GroupCounts{5, 3, 2}, GroupCounts{2, 3, 5}), 0.113782, 1e-6);
  EXPECT_NEAR(class_probability_distance(GroupCounts{7, 0}, GroupCounts{0, 3}), 1.264241, 1e-6);
  EXPECT_EQ(class_probability_distance(GroupCounts{1, 1}, GroupCounts{5, 5}), 0);
}

TEST(Quality, BalanceAndCoverage) {
  EXPECT_DOUBLE_EQ(balance_ratio(GroupCounts{2, 8, 4}), 0.25);
  EXPECT_DOUBLE_EQ(balance_ratio(GroupCounts{0, 0}), 0);
  EXPECT_DOUBLE_EQ(covered_classes(GroupCounts{0, 3, 1, 0}), 0.5);
}

Rows<std::uint64_t> table(const std::vector<GroupCounts>& rows) {
  Rows<std::uint64_t> result(static_cast<std::uint32_t>(rows.size()), rows.empty() ? 0 : rows[0].size());
  for (std::uint32_t i = 0; i < rows.size(); ++i) std::ranges::copy(rows[i], result.row(i).begin());
  return result;
}

Grouping groups_of(const std::vector<std::vector<std::uint32_t>>& lists, const std::vector<std::uint32_t>& idle = {}) {
  Grouping grouping;
  for (const auto& list : lists) {
    std::vector<ClientId> members;
    for (const std::uint32_t client : list) members.push_back({client});
    grouping.add(members);
  }
  for (const std::uint32_t client : idle) grouping.add_idle({client});
  return grouping;
}

TEST(Quality, ClassImbalanceIsTheSquareOfCovPerClass) {
  EXPECT_NEAR(class_imbalance(GroupCounts{6, 2}), 0.125, 1e-12);
  EXPECT_NEAR(class_imbalance(GroupCounts{8, 0}), 0.5, 1e-12);
  EXPECT_NEAR(class_imbalance(GroupCounts{10, 6}), 0.03125, 1e-12);
  const GroupCounts counts{30, 10, 20};
  EXPECT_NEAR(std::pow(coefficient_of_variation(counts), 2), 3 * class_imbalance(counts), 1e-12);
}

TEST(Quality, DistancesAreOverAllPairs) {
  const GroupQuality quality = judge_groups(table({{1, 0}, {0, 1}, {1, 1}}));
  // Distances: 2c, c/2, c/2 with c = 1 - 1/e.
  const double c = 1 - std::exp(-1);
  EXPECT_NEAR(quality.cpd_median, 0.5 * c, 1e-12);
  EXPECT_NEAR(quality.cpd_mean, c, 1e-12);
  EXPECT_NEAR(quality.cpd_low, 0.5 * c, 1e-12);
  EXPECT_NEAR(quality.cpd_high, 1.25 * c, 1e-12);
  EXPECT_NEAR(quality.cov_mean, 2.0 / 3, 1e-12);
  EXPECT_NEAR(quality.cov_max, 1, 1e-12);
  EXPECT_NEAR(quality.qcid_mean, 1.0 / 3, 1e-12);
  EXPECT_NEAR(quality.emd_mean, 2.0 / 3, 1e-12);
  EXPECT_EQ(judge_groups({}).cpd_median, 0);
  EXPECT_EQ(judge_groups(table({{3, 4}})).cpd_mean, 0);
}

TEST(Quality, ManyGroupsAreComparedByAnEvenChoice) {
  Rows<std::uint64_t> counts(2500, 2);
  for (std::uint32_t g = 0; g < 2500; ++g) {
    counts.row(g)[0] = g < 1250 ? 1 : 3;
    counts.row(g)[1] = 1;
  }
  const GroupQuality quality = judge_groups(counts);
  const double apart = class_probability_distance(GroupCounts{1, 1}, GroupCounts{3, 1});
  EXPECT_NEAR(quality.cpd_mean, apart * 1250.0 * 1250 / (2500.0 * 2499 / 2), 1e-12);
  EXPECT_NEAR(quality.cpd_high, apart, 1e-12);
  EXPECT_EQ(quality.cpd_low, 0);
}

TEST(Quality, CountsOfAGroupMayExceed32Bits) {
  Rows<std::uint32_t> labels(3, 2);
  std::ranges::fill(labels.values, 4'000'000'000u);
  const Rows<std::uint64_t> counts = group_counts(groups_of({{0, 2}}, {1}), labels);
  EXPECT_EQ(counts.row(0)[1], 8'000'000'000u);
}

TEST(Quality, SizesSpread) {
  const GroupSizes sizes = group_sizes(groups_of({{0, 1}, {2, 3, 4, 5}}, {6}));
  EXPECT_EQ(sizes.smallest, 2u);
  EXPECT_EQ(sizes.largest, 4u);
  EXPECT_DOUBLE_EQ(sizes.mean, 3);
  EXPECT_DOUBLE_EQ(sizes.deviation, 1);
  EXPECT_EQ(group_sizes({}).largest, 0u);
}

TEST(Agreement, IsByTheBestMatchingNotByNames) {
  const std::vector<std::uint32_t> truth{7, 7, 7, 3, 3, 3};
  const Agreement all = agreement(groups_of({{3, 4, 5}, {0, 1, 2}}), truth);
  EXPECT_EQ(all.correct, 6u);
  EXPECT_DOUBLE_EQ(all.adjusted_rand, 1);
  EXPECT_NEAR(all.mutual_information, 1, 1e-12);
  // Greedy matching of the largest cell would give 3 + 0; the best is 2 + 2.
  const std::vector<std::uint32_t> mixed{0, 0, 0, 1, 1, 0, 0};
  EXPECT_EQ(agreement(groups_of({{0, 1, 2, 3, 4}, {5, 6}}), mixed).correct, 4u);
}

TEST(Agreement, KnowsItsReferenceValues) {
  // Contingency {{2, 1}, {1, 2}}: pairs 2 of 6 and 6, 15 in all.
  const std::vector<std::uint32_t> truth{0, 0, 1, 0, 1, 1};
  const Agreement half = agreement(groups_of({{0, 1, 2}, {3, 4, 5}}), truth);
  EXPECT_EQ(half.correct, 4u);
  EXPECT_NEAR(half.adjusted_rand, (2 - 2.4) / (6 - 2.4), 1e-12);
  EXPECT_NEAR(half.mutual_information, (2.0 / 3 * std::log(4.0 / 3) + 1.0 / 3 * std::log(2.0 / 3)) / std::log(2.0),
              1e-12);
  // More groups than clusters, and an idle client.
  const Agreement split = agreement(groups_of({{0}, {1, 3}, {2, 4}}, {5}), truth);
  EXPECT_EQ(split.correct, 4u);
  EXPECT_EQ(split.clients, 6u);
  const std::vector<std::uint32_t> one(3, 9);
  EXPECT_DOUBLE_EQ(agreement(groups_of({{0, 1, 2}}), one).adjusted_rand, 1);
  EXPECT_DOUBLE_EQ(agreement(groups_of({{0, 1, 2}}), one).mutual_information, 1);
}

TEST(Singletons, LeaveClientsWithoutSamplesIdle) {
  const std::vector<std::uint32_t> samples{3, 0, 5};
  const Grouping grouping = group_singletons({.samples = samples});
  ASSERT_EQ(grouping.count(), 2u);
  EXPECT_EQ(grouping.members(GroupId{1})[0], ClientId{2});
  ASSERT_EQ(grouping.idle().size(), 1u);
  EXPECT_EQ(grouping.idle()[0], ClientId{1});
}

TEST(Quality, AnEmptyGroupSaysNothingOfTheTruth) {
  Grouping grouping;
  const ClientId clients[] = {{0}, {1}, {2}, {3}};
  grouping.add({clients, 2});
  grouping.add({});
  grouping.add({clients + 2, 2});
  const std::vector<std::uint32_t> truth{7, 7, 8, 8};
  const Agreement found = agreement(grouping, truth);
  EXPECT_EQ(found.correct, 4u);
  EXPECT_EQ(found.adjusted_rand, 1);
  EXPECT_EQ(found.mutual_information, 1);
}

}  // namespace
}  // namespace muster
