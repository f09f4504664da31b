#include <algorithm>
#include <cmath>
#include <random>

#include "aggregate/aggregator.h"
#include "aggregate/member_merge.h"
#include "aggregate/merge_rule.h"

namespace muster {
namespace {

struct Merged {
  std::vector<float> model;
  MergeReport report;

  [[nodiscard]] std::vector<std::uint32_t> filtered() const {
    std::vector<std::uint32_t> places;
    for (const MergeReport::Filtered& one : report.filtered) places.push_back(one.place);
    return places;
  }
};

Merged merge(const char* rule, const std::vector<std::vector<float>>& models, const AggregationOptions& options = {},
             std::vector<float> start = {}, StreamKey noise = {.seed = 7}) {
  start.resize(models[0].size());
  HeldModels held;
  held.begin(start.size());
  for (const std::vector<float>& model : models) held.add(model);
  Merged merged{.model = std::vector<float>(start.size()), .report = {}};
  merged.report = held.merge(*find_merge_rule(rule)->make(options), start, noise, merged.model);
  return merged;
}

TEST(Flame, FindsTheMajorityOfTheWorkedNumbers) {
  const AggregationOptions quiet{.noise = 0};
  const Merged merged = merge("flame", {{3, 0}, {2.9f, 0.3f}, {3.2f, -0.2f}, {-3, 3}}, quiet);
  EXPECT_THAT(merged.filtered(), testing::ElementsAre(3));
  EXPECT_EQ(merged.report.filtered[0].reason, FilterReason::kMinority);
  EXPECT_THAT(merged.report.clipped, testing::ElementsAre(2));  // 3.206 long, the median is 3.103122
  EXPECT_FALSE(merged.report.fell_back);
  EXPECT_NEAR(merged.model[0], (3 + 2.9 + 3.2 * 0.967837) / 3, 1e-6);
  EXPECT_NEAR(merged.model[1], (0.3 - 0.2 * 0.967837) / 3, 1e-6);
}

TEST(Flame, AddsNoiseInProportionToTheMedianLength) {
  std::vector<std::vector<float>> models(3, std::vector<float>(20'000, 0.5f));
  models[1][0] = 0.4f;
  models[2][0] = 0.6f;
  const double length = std::sqrt(20'000 * 0.25);
  const Merged merged = merge("flame", models, {.noise = 0.01});
  double squares = 0;
  for (std::size_t c = 1; c < merged.model.size(); ++c) squares += std::pow(merged.model[c] - 0.5, 2);
  EXPECT_NEAR(std::sqrt(squares / 20'000) / (0.01 * length), 1, 0.03);
  EXPECT_EQ(merge("flame", models, {.noise = 0.01}).model, merged.model);
  EXPECT_NE(merge("flame", models, {.noise = 0.01}, {}, {.seed = 7, .round = 2}).model, merged.model);
}

TEST(Flame, TakesEverybodyOfTwo) {
  const Merged merged = merge("flame", {{1, 0}, {0, 1}}, {.noise = 0});
  EXPECT_TRUE(merged.report.fell_back);
  EXPECT_TRUE(merged.filtered().empty());
  EXPECT_EQ(merged.model, (std::vector<float>{0.5f, 0.5f}));
}

// Pairs at one distance are joined together, so it does not matter who comes first.
TEST(Flame, TiesDoNotDependOnTheOrder) {
  const std::vector<std::vector<float>> square{{1, 0}, {0, 1}, {-1, 0}, {0, -1}};
  EXPECT_TRUE(merge("flame", square, {.noise = 0}).filtered().empty());
}

// With f = 1 of five, scores are sums over the two nearest: 0.05, 0.02, 0.02, 0.05, and far more.
TEST(Krum, TakesTheModelWithTheNearestNeighbours) {
  const std::vector<std::vector<float>> models{{0}, {0.1f}, {0.2f}, {0.3f}, {10}};
  const Merged one = merge("krum", models, {.attackers = {1u}});
  EXPECT_THAT(one.filtered(), testing::ElementsAre(0, 2, 3, 4));
  EXPECT_EQ(one.report.filtered[0].reason, FilterReason::kFar);
  EXPECT_EQ(one.model[0], 0.1f);
  const Merged several = merge("multi-krum", models, {.attackers = {1u}});
  EXPECT_THAT(several.filtered(), testing::ElementsAre(4));
  EXPECT_NEAR(several.model[0], 0.15, 1e-6);
}

TEST(Krum, WithTooFewModelsItIsTheMedian) {
  for (const char* rule : {"krum", "multi-krum"}) {
    const Merged merged = merge(rule, {{1}, {2}, {50}}, {.attackers = {1u}});
    EXPECT_TRUE(merged.report.fell_back);
    EXPECT_TRUE(merged.filtered().empty());
    EXPECT_EQ(merged.model[0], 2);
  }
  EXPECT_FALSE(merge("krum", {{1}, {2}, {3}, {4}, {50}}, {.attackers = {1u}}).report.fell_back);
}

TEST(Median, IsTheMiddleOfEachParameter) {
  EXPECT_EQ(merge("median", {{1, -9}, {2, 7}, {99, 5}}).model, (std::vector<float>{2, 5}));
  EXPECT_EQ(merge("median", {{1, -9}, {2, 7}, {99, 5}, {4, 6}}).model, (std::vector<float>{3, 5.5f}));
}

TEST(TrimmedMean, TakesAwayBothEnds) {
  const std::vector<std::vector<float>> models{{-100}, {1}, {2}, {6}, {100}};
  const Merged merged = merge("trimmed-mean", models, {.trim = 0.2});
  EXPECT_EQ(merged.model[0], 3);
  EXPECT_FALSE(merged.report.fell_back);
  const Merged few = merge("trimmed-mean", {{1}, {2}, {6}}, {.trim = 0.2});
  EXPECT_EQ(few.model[0], 3);
  EXPECT_TRUE(few.report.fell_back);
}

TEST(NormClip, ShortensLongChanges) {
  const Merged given = merge("norm-clip", {{3, 4}, {0, 1}}, {.clip = 2.5});
  EXPECT_THAT(given.report.clipped, testing::ElementsAre(0));
  EXPECT_EQ(given.model, (std::vector<float>{0.75f, 1.5f}));
  const Merged by_median = merge("norm-clip", {{1, 0}, {0, 2}, {100, 0}});
  EXPECT_THAT(by_median.report.clipped, testing::ElementsAre(2));
  EXPECT_EQ(by_median.model, (std::vector<float>{1, 2.0f / 3}));
}

TEST(HeldModels, AverageRunningStatisticsOfThoseThatAreTaken) {
  HeldModels held;
  held.begin(1);
  for (const std::vector<float>& model :
       std::vector<std::vector<float>>{{0, 10}, {0.1f, 20}, {0.2f, 30}, {0.3f, 40}, {10, 9000}}) {
    held.add(model);
  }
  std::vector<float> merged(2);
  const auto rule = find_merge_rule("multi-krum")->make({.attackers = {1u}});
  (void)held.merge(*rule, std::vector<float>{0, 0}, {}, merged);
  EXPECT_EQ(merged[1], 25);
  EXPECT_EQ(held.count(), 0u);
}

class EveryRule : public testing::TestWithParam<std::string> {
 protected:
  // Honest models near (1, ..., 1) and attackers far away.
  static std::vector<std::vector<float>> models(std::uint32_t honest, std::uint32_t attackers, std::uint32_t seed,
                                                float far = 40) {
    std::mt19937 random(seed);
    std::normal_distribution<float> near(1, 0.1f);
    std::vector<std::vector<float>> all;
    for (std::uint32_t i = 0; i < honest + attackers; ++i) {
      all.emplace_back();
      for (int c = 0; c < 6; ++c) all.back().push_back(i < honest ? near(random) : far * (c % 2 == 0 ? -1.0f : 0.5f));
    }
    return all;
  }
  static AggregationOptions options() { return {.trim = 0.3, .attackers = {0.3}, .noise = 0}; }
};

TEST_P(EveryRule, OneOrEqualModelsStayWhatTheyAre) {
  for (std::uint32_t count = 1; count <= 7; ++count) {
    const std::vector<std::vector<float>> same(count, std::vector<float>{0.25f, -3, 8});
    const Merged merged = merge(GetParam().c_str(), same, options());
    for (std::size_t c = 0; c < 3; ++c) EXPECT_FLOAT_EQ(merged.model[c], same[0][c]) << count;
    EXPECT_TRUE(merged.report.clipped.empty());
  }
}

TEST_P(EveryRule, AMinorityDoesNotMoveTheModelFar) {
  for (std::uint32_t seed = 1; seed <= 20; ++seed) {
    const Merged merged = merge(GetParam().c_str(), models(8, 3, seed), options());
    // The clipping alone bounds what attackers do: three of eleven, none longer than the median.
    const double bound = GetParam() == "norm-clip" ? 1.2 : 0.35;
    for (const float value : merged.model) EXPECT_NEAR(value, 1, bound) << seed;
  }
}

TEST_P(EveryRule, WhoIsFilteredContributesNothing) {
  for (std::uint32_t seed = 1; seed <= 20; ++seed) {
    const Merged merged = merge(GetParam().c_str(), models(8, 3, seed), options());
    if (merged.report.filtered.empty()) return;
    for (const std::uint32_t attacker : {8u, 9u, 10u}) EXPECT_THAT(merged.filtered(), testing::Contains(attacker));
    EXPECT_EQ(merge(GetParam().c_str(), models(8, 3, seed, 77), options()).model, merged.model);
  }
}

TEST_P(EveryRule, TheOrderOfModelsDoesNotMatter) {
  for (std::uint32_t seed = 1; seed <= 20; ++seed) {
    std::vector<std::vector<float>> all = models(6 + seed % 3, 2, seed);
    const Merged merged = merge(GetParam().c_str(), all, options());
    std::ranges::reverse(all);
    const Merged reversed = merge(GetParam().c_str(), all, options());
    ASSERT_EQ(reversed.report.filtered.size(), merged.report.filtered.size());
    for (std::size_t c = 0; c < merged.model.size(); ++c) EXPECT_NEAR(reversed.model[c], merged.model[c], 1e-5);
  }
}

// The same rule in a group and across groups gives the same model.
TEST_P(EveryRule, ServesMembersAndGroups) {
  const std::vector<std::vector<float>> all = models(8, 3, 5);
  AggregationOptions same = options();
  same.global = GetParam();
  auto across = make_aggregator(same, {.parameters = 5, .size = 6, .clients = 11});
  ASSERT_TRUE(across.ok());
  const std::unique_ptr<MemberMerge> inside = find_in_group(GetParam())->make(same, 1);
  std::vector<float> model(6);
  const std::vector<float> start(6);
  (*across)->begin(model);
  inside->begin({.start = start, .parameters = 5, .round = 1, .group = {2}});
  for (std::uint32_t i = 0; i < all.size(); ++i) {
    GroupUpdate update;
    update.model = all[i];
    update.samples = 1 + i;  // counts for nothing
    update.members.resize(1);
    (*across)->add(update);
    inside->add({i}, all[i], 1 + i);
  }
  (*across)->finish(model);
  std::vector<float> members(6);
  const MergeReport report = inside->finish(members);
  EXPECT_EQ(members, model);
  ASSERT_NE((*across)->report(), nullptr);
  EXPECT_EQ((*across)->report()->filtered.size(), report.filtered.size());
}

INSTANTIATE_TEST_SUITE_P(Catalogue, EveryRule, testing::ValuesIn([] {
                           std::vector<std::string> names;
                           for (const MergeRuleEntry& rule : merge_rules()) names.push_back(rule.name);
                           return names;
                         }()),
                         [](const auto& parameter) {
                           std::string name = parameter.param;
                           std::erase(name, '-');
                           return name;
                         });

}  // namespace
}  // namespace muster
