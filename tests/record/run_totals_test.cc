// Totals come back from a checkpoint by name, or say what is wrong.
#include "record/run_totals.h"

#include <cmath>

namespace muster {
namespace {

RunTotals different_numbers() {
  return {.accuracy_last = 0.5,
          .accuracy_best = 0.75,
          .best_round = 3,
          .evaluated_round = 4,
          .loss_last = 1.25,
          .target_round = 5,
          .compute_s = 1,
          .comm_s = 2,
          .bytes_up = 3,
          .bytes_down = 4,
          .links = {.client_server = 5, .relay = 6, .edge_cloud = 7},
          .samples_trained = 8,
          .sums = 15,
          .sums_abandoned = 16,
          .wall_s = 9,
          .setup_s = 13,
          .profile_s = 14,
          .train_s = 10,
          .eval_s = 11,
          .group_s = 12};
}

Checkpoint saved(const RunTotals& totals) {
  Checkpoint checkpoint{.round = 6};
  totals.save(checkpoint);
  return checkpoint;
}

TEST(RunTotals, ComeBackAsTheyWere) {
  RunTotals back;
  ASSERT_TRUE(back.restore(saved(different_numbers())));
  EXPECT_EQ(back.accuracy_last, 0.5);
  EXPECT_EQ(back.accuracy_best, 0.75);
  EXPECT_EQ(back.best_round, 3u);
  EXPECT_EQ(back.evaluated_round, 4u);
  EXPECT_EQ(back.loss_last, 1.25);
  EXPECT_EQ(back.target_round, 5u);
  EXPECT_EQ(back.compute_s, 1);
  EXPECT_EQ(back.comm_s, 2);
  EXPECT_EQ(back.bytes_up, 3u);
  EXPECT_EQ(back.bytes_down, 4u);
  EXPECT_EQ(back.links.client_server, 5u);
  EXPECT_EQ(back.links.relay, 6u);
  EXPECT_EQ(back.links.edge_cloud, 7u);
  EXPECT_EQ(back.samples_trained, 8u);
  EXPECT_EQ(back.sums, 15u);
  EXPECT_EQ(back.sums_abandoned, 16u);
  EXPECT_EQ(back.wall_s, 9);
  EXPECT_EQ(back.train_s, 10);
  EXPECT_EQ(back.eval_s, 11);
  EXPECT_EQ(back.group_s, 12);
  EXPECT_EQ(back.setup_s, 13);
  EXPECT_EQ(back.profile_s, 14);
  EXPECT_EQ(back.cost_s(), 3);
}

TEST(RunTotals, AreSavedByName) {
  const Checkpoint checkpoint = saved(different_numbers());
  EXPECT_EQ(*checkpoint.get_uint64("total.bytes-up"), 3u);
  EXPECT_EQ(*checkpoint.get_uint64("total.bytes-down"), 4u);
  EXPECT_EQ(*checkpoint.get_uint64("total.best-round"), 3u);
  EXPECT_EQ(*checkpoint.get_doubles("total.compute-s"), std::vector<double>{1});
  EXPECT_EQ(*checkpoint.get_doubles("total.accuracy-best"), std::vector<double>{0.75});
  EXPECT_EQ(checkpoint.sections.size(), 22u);
}

TEST(RunTotals, WhatIsNotKnownStaysUnknown) {
  RunTotals back = different_numbers();
  ASSERT_TRUE(back.restore(saved({})));
  EXPECT_FALSE(back.accuracy_last || back.accuracy_best || back.loss_last || back.target_round);
  EXPECT_EQ(back.best_round, 0u);
  EXPECT_EQ(back.sums, 0u);
  EXPECT_EQ(back.sums_abandoned, 0u);
}

TEST(RunTotals, ALossThatIsNotFiniteIsARunThatDiverged) {
  RunTotals totals;
  totals.loss_last = NAN;
  RunTotals back;
  ASSERT_TRUE(back.restore(saved(totals)));
  EXPECT_TRUE(std::isnan(back.loss_last.value()));
}

TEST(RunTotals, AMissingSectionIsNamed) {
  const Checkpoint whole = saved(different_numbers());
  for (const auto& [name, content] : whole.sections) {
    Checkpoint checkpoint = whole;
    checkpoint.sections.erase(name);
    RunTotals back;
    const Status status = back.restore(checkpoint);
    ASSERT_FALSE(status) << name;
    EXPECT_THAT(status.error().message, testing::HasSubstr(name));
  }
}

TEST(RunTotals, BrokenSectionsAreRefused) {
  const auto refused = [](const char* name, const std::vector<double>& values) {
    Checkpoint checkpoint = saved(different_numbers());
    checkpoint.put_doubles(name, values);
    RunTotals back;
    return !back.restore(checkpoint).ok();
  };
  EXPECT_TRUE(refused("total.compute-s", {}));
  EXPECT_TRUE(refused("total.compute-s", {1, 2}));
  EXPECT_TRUE(refused("total.compute-s", {NAN}));
  EXPECT_TRUE(refused("total.accuracy-last", {1, 2}));
  EXPECT_FALSE(refused("total.accuracy-last", {}));
  for (const char* name : {"total.best-round", "total.evaluated-round", "total.target-round"}) {
    Checkpoint checkpoint = saved(different_numbers());
    checkpoint.put_uint64(name, 7);  // after the round that was saved
    RunTotals back;
    EXPECT_FALSE(back.restore(checkpoint)) << name;
    checkpoint.put_uint64(name, 6);
    EXPECT_TRUE(back.restore(checkpoint)) << name;
  }
}

}  // namespace
}  // namespace muster
