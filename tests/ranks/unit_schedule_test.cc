#include "ranks/unit_schedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace muster {
namespace {

using testing::ElementsAre;
using testing::Optional;

TEST(UnitSchedule, BeginsTheLongestOfItsWindow) {
  UnitSchedule schedule({1, 3, 2, 9}, 3);
  EXPECT_THAT(schedule.next(), Optional(1u));
  EXPECT_THAT(schedule.next(), Optional(2u));
  EXPECT_THAT(schedule.next(), Optional(0u));
  EXPECT_EQ(schedule.next(), std::nullopt);  // 3 is outside as long as 0 is awaited
  schedule.finish(1);
  EXPECT_EQ(schedule.next(), std::nullopt);
  schedule.finish(0);
  EXPECT_THAT(schedule.accept(), Optional(0u));
  EXPECT_THAT(schedule.next(), Optional(3u));
  EXPECT_EQ(schedule.left_to_begin(), 0u);
}

TEST(UnitSchedule, OfEqualUnitsBeginsTheFirst) {
  UnitSchedule schedule({5, 5, 5}, 3);
  EXPECT_THAT(schedule.next(), Optional(0u));
  EXPECT_THAT(schedule.next(), Optional(1u));
}

TEST(UnitSchedule, AcceptsInOrderEachOnce) {
  UnitSchedule schedule({1, 2, 3}, 3);
  while (schedule.next()) {
  }
  schedule.finish(2);
  schedule.finish(1);
  EXPECT_EQ(schedule.accept(), std::nullopt);
  schedule.finish(0);
  std::vector<std::uint32_t> order;
  while (const auto unit = schedule.accept()) order.push_back(*unit);
  EXPECT_THAT(order, ElementsAre(0, 1, 2));
  EXPECT_TRUE(schedule.done());
}

TEST(UnitSchedule, WithoutUnitsIsDone) {
  UnitSchedule schedule({}, 1);
  EXPECT_TRUE(schedule.done());
  EXPECT_EQ(schedule.next(), std::nullopt);
  EXPECT_EQ(schedule.accept(), std::nullopt);
}

TEST(PacksWell, WhenTheLongestDoesNotStandOut) {
  EXPECT_TRUE(packs_well({4, 4, 2, 2, 4}, 2));
  EXPECT_TRUE(packs_well({3}, 1));
  EXPECT_FALSE(packs_well({10, 1, 1, 1}, 2));
  EXPECT_FALSE(packs_well({5, 5, 5}, 2));
  EXPECT_FALSE(packs_well({5}, 2));
  EXPECT_TRUE(packs_well({}, 2));
}

}  // namespace
}  // namespace muster
