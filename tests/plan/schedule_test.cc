#include "plan/schedule.h"

#include <limits>

namespace muster {
namespace {

using ::testing::HasSubstr;

TEST(Schedule, LogarithmicGrowthStepsWhereThePaperDoes) {
  const GroupSchedule schedule{.growth = "log", .alpha = 2, .beta = 10};
  // Every change of FedGSP's default up to round 500.
  const std::vector<std::pair<std::uint32_t, std::uint32_t>> changes{
      {1, 10},  {2, 20},  {3, 30},   {5, 40},    {8, 50},    {13, 60},  {21, 70},
      {34, 80}, {55, 90}, {91, 100}, {149, 110}, {245, 120}, {404, 130}};
  std::vector<std::pair<std::uint32_t, std::uint32_t>> found;
  std::uint32_t last = 0;
  for (std::uint32_t round = 1; round <= 500; ++round) {
    const std::uint32_t groups = scheduled_groups(schedule, round, 368);
    if (groups != last) found.emplace_back(round, groups);
    last = groups;
  }
  EXPECT_EQ(found, changes);
}

TEST(Schedule, LinearAndExponentialGrowth) {
  EXPECT_EQ(scheduled_groups({.growth = "linear", .alpha = 0.5, .beta = 4}, 1, 1000), 4u);
  EXPECT_EQ(scheduled_groups({.growth = "linear", .alpha = 0.5, .beta = 4}, 2, 1000), 4u);
  EXPECT_EQ(scheduled_groups({.growth = "linear", .alpha = 0.5, .beta = 4}, 3, 1000), 8u);
  // 0.29 * 100 is 28.999... in binary; the schedule means 29.
  EXPECT_EQ(scheduled_groups({.growth = "linear", .alpha = 0.29, .beta = 1}, 101, 1000), 30u);
  EXPECT_EQ(scheduled_groups({.growth = "exp", .alpha = 1, .beta = 3}, 5, 1000), 48u);
  EXPECT_EQ(scheduled_groups({.growth = "exp", .alpha = 0.5, .beta = 1}, 4, 1000), 3u);
}

TEST(Schedule, NeverMoreGroupsThanClientsAndNoOverflow) {
  const std::uint32_t largest = std::numeric_limits<std::uint32_t>::max();
  for (const char* growth : {"linear", "log", "exp"}) {
    EXPECT_EQ(scheduled_groups({.growth = growth, .alpha = 1e300, .beta = 10}, largest, 368), 368u) << growth;
  }
  EXPECT_EQ(scheduled_groups({.growth = "exp", .alpha = 1, .beta = largest}, 5000, largest), largest);
  EXPECT_EQ(scheduled_groups({.growth = "constant", .beta = 50}, 7, 20), 20u);
  EXPECT_EQ(scheduled_groups({.growth = "constant", .beta = 50}, 7, 0), 0u);
}

TEST(Schedule, ConstantStays) {
  const GroupSchedule schedule{.beta = 12};
  for (const std::uint32_t round : {1u, 2u, 1000u}) EXPECT_EQ(scheduled_groups(schedule, round, 100), 12u);
}

TEST(Schedule, EveryListedGrowthIsAcceptedAndStartsAtBeta) {
  for (const CatalogueEntry& entry : growths()) {
    const GroupSchedule schedule{.growth = entry.name, .alpha = 2, .beta = 10};
    EXPECT_TRUE(check_schedule(schedule).ok()) << entry.name;
    EXPECT_EQ(scheduled_groups(schedule, 1, 100), 10u) << entry.name;
    EXPECT_FALSE(entry.summary.empty());
  }
}

TEST(Schedule, RefusesWhatItCannotCount) {
  EXPECT_EQ(check_schedule({.growth = "lag"}).error().message,
            "unknown growth 'lag' (did you mean 'log'?); accepted: constant, linear, log, exp");
  EXPECT_EQ(check_schedule({.growth = "log", .alpha = -1}).error().message, "alpha = -1, want a number >= 0");
  EXPECT_THAT(check_schedule({.growth = "exp", .alpha = std::numeric_limits<double>::infinity()}).error().message,
              HasSubstr("want a number >= 0"));
  EXPECT_EQ(check_schedule({.beta = 0}).error().message, "0 groups, want >= 1");
}

}  // namespace
}  // namespace muster
