#include "plan/regroup.h"

#include <cmath>
#include <limits>

namespace muster {
namespace {

TEST(Regroup, NeverUnlessAsked) {
  for (std::uint32_t round = 1; round < 50; ++round) EXPECT_FALSE(regroup_before({}, round));
}

TEST(Regroup, EveryFewRounds) {
  std::vector<std::uint32_t> rounds;
  for (std::uint32_t round = 1; round <= 12; ++round) {
    if (regroup_before({.every = 5}, round)) rounds.push_back(round);
  }
  EXPECT_EQ(rounds, (std::vector<std::uint32_t>{6, 11}));
  EXPECT_TRUE(regroup_before({.every = 1}, 2));
  EXPECT_TRUE(regroup_before({.every = 1}, 3));
}

TEST(Regroup, EventsKnowTheirFirstRound) {
  EXPECT_EQ(earliest_event({.on = "loss-variance"}), 3u);
  EXPECT_EQ(earliest_event({.on = "bipartition"}), 20u);
  EXPECT_EQ(earliest_event({.on = "bipartition", .round = 4}), 4u);
  EXPECT_EQ(earliest_event({.on = "round", .round = 5}), 5u);
}

TEST(Regroup, EveryListedEventIsAccepted) {
  for (const CatalogueEntry& entry : regroup_events()) {
    EXPECT_TRUE(check_regroup({.on = entry.name, .round = 2}).ok()) << entry.name;
  }
}

TEST(Regroup, RefusesContradictions) {
  EXPECT_EQ(check_regroup({.on = "rounds"}).error().message,
            "plan.regroup-on: unknown event 'rounds' (did you mean 'round'?); accepted: round, loss-variance, "
            "bipartition");
  EXPECT_EQ(check_regroup({.every = 2, .on = "loss-variance"}).error().message,
            "plan.regroup-on: \"loss-variance\" does not go with plan.regroup-every = 2; want one of the two");
  EXPECT_EQ(check_regroup({.on = "round"}).error().message,
            "plan.regroup-on: \"round\" needs plan.regroup-round, want >= 1");
  EXPECT_EQ(check_regroup({.round = 3}).error().message, "plan.regroup-round: 3, but plan.regroup-on names no event");
  EXPECT_EQ(check_regroup({.every = 0}).error().message, "plan.regroup-every: 0, want >= 1");
  EXPECT_EQ(check_regroup({.on = "round", .round = 0}).error().message, "plan.regroup-round: 0, want >= 1");
}

TEST(LossVariance, IsThePopulationForm) {
  EXPECT_DOUBLE_EQ(cumulative_loss_variance(std::vector<double>{1, 2, 3, 4}), 1.25);
  EXPECT_EQ(cumulative_loss_variance(std::vector<double>{7}), 0);
  EXPECT_EQ(cumulative_loss_variance({}), 0);
}

TEST(LossVariance, BrokenLossesDoNotCount) {
  const double broken = std::numeric_limits<double>::quiet_NaN();
  EXPECT_DOUBLE_EQ(cumulative_loss_variance(std::vector<double>{1, broken, 3, INFINITY}), 1);
  EXPECT_EQ(cumulative_loss_variance(std::vector<double>{broken}), 0);
}

TEST(LossVariance, WantsTwoRisesInARow) {
  using Variances = std::vector<double>;
  EXPECT_FALSE(variance_says_group({}, 3));
  EXPECT_FALSE(variance_says_group(Variances{1}, 3));
  EXPECT_FALSE(variance_says_group(Variances{1, 2}, 3));
  EXPECT_TRUE(variance_says_group(Variances{1, 2, 3}, 3));
  EXPECT_FALSE(variance_says_group(Variances{1, 2, 2}, 3));
  EXPECT_FALSE(variance_says_group(Variances{1, 1, 2}, 3));
  EXPECT_FALSE(variance_says_group(Variances{3, 1, 2}, 3));
  EXPECT_TRUE(variance_says_group(Variances{3, 1, 2, 3}, 3));
  EXPECT_FALSE(variance_says_group(Variances{3, 2, 1, 2}, 3));
  // At the latest after round 5, whatever happened.
  EXPECT_TRUE(variance_says_group(Variances{5, 4, 3, 2, 1}, 3));
  EXPECT_TRUE(variance_says_group(Variances(5, std::numeric_limits<double>::quiet_NaN()), 3));
}

TEST(LossVariance, TheFirstRoundCanBeMoved) {
  using Variances = std::vector<double>;
  EXPECT_FALSE(variance_says_group(Variances{1, 2, 3}, 4));
  EXPECT_TRUE(variance_says_group(Variances{1, 2, 3, 4}, 4));
  // Two rises take three rounds to see, however early they may count.
  EXPECT_FALSE(variance_says_group(Variances{1, 2}, 1));
  EXPECT_TRUE(variance_says_group(Variances{2, 1, 1}, 1));
}

}  // namespace
}  // namespace muster
