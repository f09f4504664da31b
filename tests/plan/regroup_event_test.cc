// When each event has happened.
#include "plan/regroup_event.h"

namespace muster {
namespace {

TEST(RegroupEvent, ThereIsNoneUnlessNamed) {
  EXPECT_EQ(make_regroup_event({}), nullptr);
  EXPECT_EQ(make_regroup_event({.every = 3}), nullptr);
}

TEST(RegroupEvent, EveryEntryIsMadeUnderItsName) {
  for (const EventEntry& entry : event_entries()) {
    const auto event = make_regroup_event({.on = entry.name, .round = 7});
    ASSERT_TRUE(event);
    EXPECT_EQ(event->entry().name, entry.name);
    EXPECT_EQ(event->earliest(), 7u);
    if (entry.earliest) {
      EXPECT_EQ(make_regroup_event({.on = entry.name})->earliest(), *entry.earliest) << entry.name;
    }
  }
}

TEST(RegroupEvent, OnlyBipartitionSplitsAndOnlyLossVarianceNeedsLosses) {
  for (const EventEntry& entry : event_entries()) {
    EXPECT_EQ(entry.splits, entry.name == "bipartition");
    EXPECT_EQ(make_regroup_event({.on = entry.name, .round = 2})->needs_losses(), entry.name == "loss-variance");
  }
}

TEST(RegroupEvent, ARoundHasComeFromThenOn) {
  const auto event = make_round_event(5);
  EXPECT_FALSE(event->happened({.round = 4}));
  EXPECT_TRUE(event->happened({.round = 5}));
  EXPECT_TRUE(event->happened({.round = 6}));  // too few took part in round 5
}

TEST(RegroupEvent, GroupsMaySplitAfterEveryRoundFromTheFirstOn) {
  const auto event = make_bipartition_event(3);
  EXPECT_FALSE(event->happened({.round = 2}));
  EXPECT_TRUE(event->happened({.round = 3}));
  EXPECT_TRUE(event->happened({.round = 30}));
}

TEST(RegroupEvent, LossesMustHaveRisenTwice) {
  const auto event = make_loss_variance_event(3);
  const std::vector<double> risen{1, 2, 3};
  const std::vector<double> flat{1, 2, 2};
  const std::vector<double> late{5, 4, 3, 2, 1};
  EXPECT_TRUE(event->happened({.round = 3, .loss_variances = risen}));
  EXPECT_FALSE(event->happened({.round = 3, .loss_variances = flat}));
  EXPECT_TRUE(event->happened({.round = 5, .loss_variances = late}));  // at the latest
  EXPECT_FALSE(make_loss_variance_event(4)->happened({.round = 3, .loss_variances = risen}));
}

}  // namespace
}  // namespace muster
