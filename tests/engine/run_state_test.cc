// Where a run is, when it is over, and what its signature depends on.
#include "engine/run_state.h"

#include <cmath>

namespace muster {
namespace {

RoundRecord evaluated(std::uint32_t round, double accuracy, double loss = 1) {
  RoundRecord record{.round = round};
  record.accuracy = accuracy;
  record.loss = loss;
  return record;
}

TEST(RunState, TheBestIsTheFirstOfEqualRounds) {
  RunState state;
  const double accuracies[] = {0.2, 0.5, 0.5, 0.4};
  for (std::uint32_t round = 1; round <= 4; ++round) {
    state.add_evaluation({}, evaluated(round, accuracies[round - 1], round));
  }
  EXPECT_EQ(state.totals.accuracy_best, 0.5);
  EXPECT_EQ(state.totals.best_round, 2u);
  EXPECT_EQ(state.totals.accuracy_last, 0.4);
  EXPECT_EQ(state.totals.loss_last, 4);
  EXPECT_EQ(state.totals.evaluated_round, 4u);
}

TEST(RunState, WhatCoversOnlySomeClientsIsNeitherBestNorTarget) {
  Recipe recipe;
  recipe.target_accuracy = 0.6;
  RunState state;
  RoundRecord partial = evaluated(1, 0.9);
  partial.covered = 0.99;
  state.add_evaluation(recipe, partial);
  EXPECT_FALSE(state.totals.accuracy_best);
  EXPECT_FALSE(state.totals.target_round);
  EXPECT_EQ(state.totals.accuracy_last, 0.9);
  RoundRecord whole = evaluated(2, 0.7);
  whole.covered = 1;
  state.add_evaluation(recipe, whole);
  EXPECT_EQ(state.totals.best_round, 2u);
  EXPECT_EQ(state.totals.target_round, 2u);
}

TEST(RunState, WhatTheBudgetDidNotPayForIsNeitherBestNorTarget) {
  Recipe recipe;
  recipe.budget = 10;
  recipe.target_accuracy = 0.6;
  RunState state;
  RoundRecord paid = evaluated(1, 0.5);
  paid.cost_total_s = 10;
  state.add_evaluation(recipe, paid);
  RoundRecord unpaid = evaluated(2, 0.8);
  unpaid.cost_total_s = 10.5;
  state.add_evaluation(recipe, unpaid);
  EXPECT_EQ(state.totals.best_round, 1u);
  EXPECT_FALSE(state.totals.target_round);
  EXPECT_EQ(state.totals.accuracy_last, 0.8);
}

TEST(RunState, StopsAtItsRoundsTargetOrBudget) {
  Recipe recipe;
  recipe.rounds = 3;
  RunState state;
  state.round = 2;
  EXPECT_EQ(state.stop_reason(recipe), std::nullopt);
  state.round = 3;
  EXPECT_EQ(state.stop_reason(recipe), StopReason::kRounds);

  RunState reached;
  recipe.target_accuracy = 0.5;
  reached.round = 1;
  reached.add_evaluation(recipe, evaluated(1, 0.49));
  EXPECT_EQ(reached.stop_reason(recipe), std::nullopt);
  reached.add_evaluation(recipe, evaluated(1, 0.5));
  EXPECT_EQ(reached.stop_reason(recipe), StopReason::kTarget);
  reached.add_evaluation(recipe, evaluated(2, 0.9));
  EXPECT_EQ(reached.totals.target_round, 1u);  // the first

  RunState spent;
  recipe.budget = 4;
  spent.round = 1;
  RoundRecord record{.round = 1};
  record.compute_s = 3;
  record.comm_s = 1;
  spent.add_training(record);
  EXPECT_EQ(spent.stop_reason(recipe), std::nullopt);  // all of it, and no more
  record.compute_s = 0.25;
  record.comm_s = 0;
  spent.add_training(record);
  EXPECT_EQ(spent.stop_reason(recipe), StopReason::kBudget);
}

TEST(RunState, ADivergedRunTrainsOneMoreRoundWhateverComesOfIt) {
  Recipe recipe;
  recipe.rounds = 9;
  RunState state;
  state.round = 4;
  state.add_evaluation(recipe, evaluated(4, 0.1, NAN));
  EXPECT_EQ(state.stop_reason(recipe), std::nullopt);
  state.round = 5;
  state.add_evaluation(recipe, evaluated(5, 0.1, INFINITY));  // the first such round counts
  EXPECT_EQ(state.diverged_round, 4u);
  state.add_evaluation(recipe, evaluated(5, 0.1, 1));  // recovered, but too late
  EXPECT_EQ(state.diverged_round, 4u);
  EXPECT_EQ(state.stop_reason(recipe), StopReason::kDiverged);
  // In the last round there is nothing more to train.
  RunState last;
  last.round = 9;
  last.add_evaluation(recipe, evaluated(9, 0.1, INFINITY));
  EXPECT_EQ(last.stop_reason(recipe), StopReason::kDiverged);
}

TEST(RunState, ThreeRoundsOfGarbageInARowAreDivergence) {
  Recipe recipe;
  RoundRecord broken{.round = 1};
  broken.dropped = {{{0}, DropReason::kNonFinite}, {{1}, DropReason::kNonFinite}};
  RoundRecord partly = broken;
  partly.participants = 1;
  RoundRecord lost = broken;
  lost.dropped[1].reason = DropReason::kFault;
  const RoundRecord nobody{.round = 1};
  const auto after = [&](const std::vector<RoundRecord>& rounds) {
    RunState state;
    for (const RoundRecord& record : rounds) state.add_training(record);
    return state.stop_reason(recipe);
  };
  EXPECT_EQ(after({broken, broken}), std::nullopt);
  EXPECT_EQ(after({broken, broken, broken}), StopReason::kDiverged);
  EXPECT_EQ(after({broken, broken, partly, broken}), std::nullopt);
  EXPECT_EQ(after({broken, broken, lost}), std::nullopt);
  EXPECT_EQ(after({nobody, nobody, nobody}), std::nullopt);
}

TEST(RunState, AddsUpWhatRoundsTook) {
  RunState state;
  RoundRecord record{.round = 1};
  record.compute_s = 1;
  record.comm_s = 2;
  record.bytes_up = 3;
  record.bytes_down = 4;
  record.links = {.client_server = 5, .relay = 6, .edge_cloud = 7};
  state.add_training(record);
  state.add_training(record);
  EXPECT_EQ(state.totals.compute_s, 2);
  EXPECT_EQ(state.totals.comm_s, 4);
  EXPECT_EQ(state.totals.bytes_up, 6u);
  EXPECT_EQ(state.totals.bytes_down, 8u);
  EXPECT_EQ(state.totals.links.client_server, 10u);
  EXPECT_EQ(state.totals.links.relay, 12u);
  EXPECT_EQ(state.totals.links.edge_cloud, 14u);
}

std::uint64_t chain_of(const std::function<void(RoundRecord&)>& change) {
  RoundRecord record = evaluated(3, 0.5, 2);
  record.client_accuracy = 0.25;
  record.train_loss = 1.5;
  record.participants = 4;
  record.dropped = {{{1}, DropReason::kFault}};
  record.bytes_up = 10;
  record.bytes_down = 20;
  change(record);
  RunState state;
  state.sign(record);
  return state.chain;
}

TEST(RunState, TheSignatureDependsOnWhatARoundDecided) {
  const std::uint64_t usual = chain_of([](RoundRecord&) {});
  const std::vector<std::function<void(RoundRecord&)>> changes{
      [](RoundRecord& r) { r.round = 4; },
      [](RoundRecord& r) { r.accuracy = 0.51; },
      [](RoundRecord& r) { r.accuracy.reset(); },
      [](RoundRecord& r) { r.loss = 2.5; },
      [](RoundRecord& r) { r.client_accuracy = 0.3; },
      [](RoundRecord& r) { r.train_loss = 1.25; },
      [](RoundRecord& r) { std::swap(r.loss, r.train_loss); },
      [](RoundRecord& r) { r.participants = 5; },
      [](RoundRecord& r) { r.dropped[0].client = {2}; },
      [](RoundRecord& r) { r.dropped[0].reason = DropReason::kStraggler; },
      [](RoundRecord& r) { r.dropped.clear(); },
      [](RoundRecord& r) { r.bytes_up = 11; },
      [](RoundRecord& r) { r.bytes_down = 21; }};
  for (std::size_t i = 0; i < changes.size(); ++i) EXPECT_NE(chain_of(changes[i]), usual) << i;
}

TEST(RunState, TheSignatureDependsOnValidationWhereThereIsAny) {
  const auto validated = [](double accuracy, double loss) {
    return chain_of([&](RoundRecord& r) {
      r.validation_accuracy = accuracy;
      r.validation_loss = loss;
    });
  };
  EXPECT_NE(validated(0.5, 1), chain_of([](RoundRecord&) {}));
  EXPECT_NE(validated(0.5, 1), validated(0.25, 1));
  EXPECT_NE(validated(0.5, 1), validated(0.5, 2));
  EXPECT_EQ(validated(0.5, 1), validated(0.5, 1));
}

TEST(RunState, TheSignatureDependsOnNothingElse) {
  EXPECT_EQ(chain_of([](RoundRecord& r) {
              r.wall_s = 9;
              r.compute_s = 8;
              r.comm_s = 7;
              r.cost_total_s = 6;
              r.profile_flops = 5;
              r.links.relay = 4;
              r.covered = 0.5;
              r.discrepancy = 3;
              r.group_accuracy = {1};
              r.client_spread = AccuracySpread{.worst = 0.1};
              r.metrics.macro_f1 = 0.2;
            }),
            chain_of([](RoundRecord&) {}));
}

TEST(RunState, TheSignatureChainsRoundsAndModels) {
  RunState one;
  RunState two;
  two.chain = 1;
  one.sign(evaluated(1, 0.5));
  two.sign(evaluated(1, 0.5));
  EXPECT_NE(one.chain, two.chain);
  RunState a;
  RunState b;
  a.sign_own_model(12);
  b.sign_own_model(13);
  EXPECT_NE(a.chain, b.chain);
  const std::uint64_t once = a.chain;
  a.sign_own_model(12);
  EXPECT_NE(a.chain, once);
}

TEST(RunState, ComesBackFromACheckpoint) {
  Recipe recipe;
  recipe.target_accuracy = 0.5;
  RunState state;
  state.chain = 77;
  state.broken_rounds = 2;
  state.diverged_round = 5;
  state.totals.samples_trained = 8;
  state.totals.accuracy_last = 0.5;
  state.totals.target_round = 6;
  Checkpoint checkpoint{.round = 6};
  state.save(checkpoint);
  RunState back;
  ASSERT_TRUE(back.restore(checkpoint, recipe));
  EXPECT_EQ(back.round, 6u);
  EXPECT_EQ(back.chain, 77u);
  EXPECT_EQ(back.broken_rounds, 2u);
  EXPECT_EQ(back.diverged_round, 5u);
  EXPECT_EQ(back.totals.samples_trained, 8u);
  EXPECT_EQ(back.totals.target_round, 6u);
  // With a higher target the run goes on, without one too.
  recipe.target_accuracy = 0.6;
  ASSERT_TRUE(back.restore(checkpoint, recipe));
  EXPECT_FALSE(back.totals.target_round);
  recipe.target_accuracy.reset();
  ASSERT_TRUE(back.restore(checkpoint, recipe));
  EXPECT_FALSE(back.totals.target_round);
}

TEST(RunState, RefusesACheckpointOfTheFuture) {
  for (const char* name : {"broken-rounds", "diverged-round"}) {
    Checkpoint checkpoint{.round = 6};
    RunState().save(checkpoint);
    RunState back;
    checkpoint.put_uint64(name, 6);
    EXPECT_TRUE(back.restore(checkpoint, {})) << name;
    checkpoint.put_uint64(name, 7);
    EXPECT_FALSE(back.restore(checkpoint, {})) << name;
    checkpoint.put_uint64(name, std::uint64_t{1} << 32);
    EXPECT_FALSE(back.restore(checkpoint, {})) << name;
  }
}

}  // namespace
}  // namespace muster
