#include "plan/plan.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

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
  EXPECT_EQ(Amount{0u}.of(7), 0u);
  EXPECT_EQ(Amount{0.0}.of(7), 1u);
  EXPECT_EQ(Amount{0.5}.of(1), 1u);
  EXPECT_EQ(Amount{1.0}.of(0xffffffffu), 0xffffffffu);
  EXPECT_EQ(Amount{0xffffffffu}.of(3), 3u);
}

TEST(Amount, SharesOutOfRangeAreNoUndefinedNumbers) {
  EXPECT_EQ(Amount{1e300}.of(7), 7u);
  EXPECT_EQ(Amount{-1.0}.of(7), 1u);
  EXPECT_EQ(Amount{std::nan("")}.of(7), 1u);
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

TEST(OverSelect, AsksOthersBesidesThoseWhoAreDrawn) {
  const Grouping grouping = singletons(20);
  const RoundPlan drawn = plan_round({.sample_clients = {10u}}, grouping, 1, 1);
  const RoundPlan wider = over_select(drawn, grouping, 1.3, 1);
  EXPECT_EQ(wider.groups.size(), 13u);
  EXPECT_EQ(wider.enough_groups, 10u);
  EXPECT_TRUE(std::ranges::is_sorted(wider.groups));
  EXPECT_TRUE(std::ranges::includes(wider.groups, drawn.groups));
  EXPECT_EQ(over_select(drawn, grouping, 10, 1).groups.size(), 20u);
  const RoundPlan same = over_select(drawn, grouping, 1, 1);
  EXPECT_EQ(same.groups, drawn.groups);
  EXPECT_EQ(same.enough_groups, 0u) << "all of them are needed";
}

TEST(OverSelect, StaysWithinEachGroup) {
  Grouping grouping;
  for (std::uint32_t g = 0; g < 4; ++g) {
    std::vector<ClientId> members;
    for (std::uint32_t i = 0; i < 6; ++i) members.push_back({6 * g + i});
    grouping.add(members);
  }
  const RoundPlan drawn = plan_round({.sample_clients = {10u}}, grouping, 1, 1);
  const RoundPlan wider = over_select(drawn, grouping, 1.5, 1);
  EXPECT_EQ(wider.groups, drawn.groups);
  EXPECT_EQ(wider.enough_groups, 0u);
  for (std::size_t i = 0; i < drawn.groups.size(); ++i) {
    const auto before = drawn.members(i, grouping);
    const auto after = wider.members(i, grouping);
    const std::size_t wanted = std::min<std::size_t>(6, (3 * before.size() + 1) / 2);
    EXPECT_EQ(after.size(), wanted);
    EXPECT_EQ(wider.enough[i], wanted == before.size() ? 0 : before.size());
    EXPECT_TRUE(std::ranges::includes(after, before));
    EXPECT_TRUE(std::ranges::includes(grouping.members(drawn.groups[i]), after));
  }
}

constexpr std::uint32_t kFaultDraws = 20000;

TEST(Faults, SharesAreMetAndDrawnIndependently) {
  const FaultOptions options{.drop = 0.3, .straggle = 0.4, .nan = 0.2};
  std::map<std::tuple<bool, bool, bool>, double> seen;
  double shares = 0;
  double squares = 0;
  double stragglers = 0;
  double broken_shares = 0;
  double broken_stragglers = 0;
  for (std::uint32_t k = 0; k < kFaultDraws; ++k) {
    const Fault fault = draw_fault(options, 1, 1, ClientId{k});
    ++seen[{fault.drop, fault.straggle.has_value(), fault.nan}];
    if (!fault.straggle) continue;
    EXPECT_TRUE(*fault.straggle >= 0 && *fault.straggle < 1);
    shares += *fault.straggle;
    squares += *fault.straggle * *fault.straggle;
    ++stragglers;
    if (fault.nan) {
      broken_shares += *fault.straggle;
      ++broken_stragglers;
    }
  }
  // All eight combinations are as frequent as if three coins were thrown; the largest standard deviation is 0.0033.
  for (const bool drop : {false, true}) {
    for (const bool straggle : {false, true}) {
      for (const bool nan : {false, true}) {
        const double expected = (drop ? 0.3 : 0.7) * (straggle ? 0.4 : 0.6) * (nan ? 0.2 : 0.8);
        const double share = seen[{drop, straggle, nan}] / kFaultDraws;
        EXPECT_NEAR(share, expected, 0.013) << drop << straggle << nan;
      }
    }
  }
  // How much a straggler does is uniform, and has nothing to do with the rest.
  EXPECT_NEAR(shares / stragglers, 0.5, 0.015);
  EXPECT_NEAR(squares / stragglers, 1.0 / 3, 0.015);
  EXPECT_NEAR(broken_shares / broken_stragglers, 0.5, 0.03);
}

TEST(Faults, RaisingOneShareLeavesTheOthersAsTheyAre) {
  const FaultOptions usual{.drop = 0.3, .straggle = 0.3, .nan = 0.3};
  for (const double other : {0.0, 1.0}) {
    for (std::uint32_t k = 0; k < 500; ++k) {
      const Fault fault = draw_fault(usual, 1, 1, ClientId{k});
      EXPECT_EQ(draw_fault({.drop = 0.3, .straggle = other, .nan = other}, 1, 1, ClientId{k}).drop, fault.drop);
      EXPECT_EQ(draw_fault({.drop = other, .straggle = 0.3, .nan = other}, 1, 1, ClientId{k}).straggle, fault.straggle);
      EXPECT_EQ(draw_fault({.drop = other, .straggle = other, .nan = 0.3}, 1, 1, ClientId{k}).nan, fault.nan);
    }
  }
}

TEST(Faults, AreDrawnAnewForEveryClientRoundAndSeed) {
  const FaultOptions options{.drop = 0.5, .straggle = 0.5, .nan = 0.5};
  std::uint32_t alike = 0;
  for (std::uint32_t i = 0; i < 1000; ++i) {
    const auto same = [](const Fault& a, const Fault& b) { return a.drop == b.drop && a.nan == b.nan; };
    const Fault fault = draw_fault(options, 1, 1, ClientId{i});
    EXPECT_EQ(draw_fault(options, 1, 1, ClientId{i}).straggle, fault.straggle);
    alike += same(fault, draw_fault(options, 1, 2, ClientId{i}));
    alike += same(fault, draw_fault(options, 1, 1, ClientId{i + 1}));
    alike += same(fault, draw_fault(options, 2, 1, ClientId{i}));
  }
  // Two coins agree a quarter of the time: 750 of 3,000, standard deviation 24.
  EXPECT_NEAR(alike, 750, 120);
}

TEST(Faults, NothingGoesWrongUnasked) {
  const Fault fault = draw_fault({}, 1, 1, ClientId{0});
  EXPECT_FALSE(fault.drop || fault.nan || fault.straggle);
}

}  // namespace
}  // namespace muster
