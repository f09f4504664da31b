#include "plan/plan.h"

#include <set>

namespace muster {
namespace {

Grouping singletons(std::uint32_t n) {
  const std::vector<std::uint32_t> samples(n, 1);
  return group_singletons({.samples = samples});
}

TEST(Amount, CountsAndShares) {
  EXPECT_EQ(Amount{10u}.of(100), 10u);
  EXPECT_EQ(Amount{10u}.of(4), 4u);
  EXPECT_EQ(Amount{0.3}.of(10), 3u);
  EXPECT_EQ(Amount{0.25}.of(10), 3u);  // half up
  EXPECT_EQ(Amount{0.001}.of(10), 1u);
  EXPECT_EQ(Amount{1.0}.of(7), 7u);
  EXPECT_EQ(Amount{0.5}.of(0), 0u);
}

TEST(Plan, SamplesDistinctGroupsByRoundAndSeed) {
  const Grouping grouping = singletons(50);
  const PlanOptions options{.sample_clients = {10u}};
  const RoundPlan one = plan_round(options, grouping, 1, 1);
  EXPECT_EQ(one.groups.size(), 10u);
  EXPECT_EQ(std::set<GroupId>(one.groups.begin(), one.groups.end()).size(), 10u);
  EXPECT_TRUE(std::is_sorted(one.groups.begin(), one.groups.end()));
  EXPECT_EQ(one.groups, plan_round(options, grouping, 1, 1).groups);
  EXPECT_NE(one.groups, plan_round(options, grouping, 1, 2).groups);
  EXPECT_NE(one.groups, plan_round(options, grouping, 2, 1).groups);
}

TEST(Plan, EveryGroupIsEquallyLikely) {
  const Grouping grouping = singletons(5);
  std::vector<int> seen(5);
  for (std::uint32_t round = 1; round <= 5000; ++round) {
    for (const GroupId g : plan_round({.sample_clients = {2u}}, grouping, 7, round).groups) ++seen[g.value];
  }
  // 2000 expected, standard deviation about 35.
  for (const int count : seen) EXPECT_NEAR(count, 2000, 150);
}

TEST(Faults, SharesAreMetAndIndependentOfEachOther) {
  int dropped = 0;
  for (std::uint32_t k = 0; k < 10000; ++k) {
    const Fault a = draw_fault({.drop = 0.3}, 1, 1, ClientId{k});
    const Fault b = draw_fault({.drop = 0.3, .straggle = 0.5, .nan = 0.5}, 1, 1, ClientId{k});
    dropped += a.drop;
    EXPECT_EQ(a.drop, b.drop);
    EXPECT_FALSE(a.straggle || a.nan);
  }
  EXPECT_NEAR(dropped, 3000, 200);
}

TEST(Faults, NothingGoesWrongUnasked) {
  const Fault fault = draw_fault({}, 1, 1, ClientId{0});
  EXPECT_FALSE(fault.drop || fault.nan || fault.straggle);
}

}  // namespace
}  // namespace muster
