// How a run ends: for which reason, and what its last evaluation counts for.
#include <limits>

#include "fake_run.h"

namespace muster {
namespace {

TEST(RoundLoopEnd, InterruptedInItsLastRoundARunIsOver) {
  FakeFederation federation(std::vector<FakeClient>(2));
  FakeRun run(averaging(2), federation);
  std::atomic<bool> interrupt{false};
  run.options.interrupt = &interrupt;
  run.options.on_round = [&](std::uint32_t round) { interrupt = round == 2; };
  EXPECT_EQ(run.go(), StopReason::kRounds);
}

TEST(RoundLoopEnd, WhatTheBudgetDidNotPayForIsNotTheBestAtTheEndEither) {
  FakeFederation federation(std::vector<FakeClient>(2));
  federation.test_samples = 100;
  std::uint32_t evaluation = 0;
  federation.score_global = [&](float) { return Score{.samples = 100, .correct = 10 * ++evaluation, .loss_sum = 1}; };
  Recipe recipe = averaging(9);
  recipe.evaluation.every = 2;
  recipe.cost.server_in_mbps = 1e-3;
  recipe.cost.server_out_mbps = 1e-3;  // 2 clients, 24 bytes each way: 0.768 s a round
  recipe.budget = 2;
  FakeRun run(recipe, federation);
  StopReason reason = run.go();
  EXPECT_EQ(reason, StopReason::kBudget);
  ASSERT_TRUE(run.loop->evaluate_end(reason).ok());
  EXPECT_EQ(run.loop->state().totals.evaluated_round, 3u);
  EXPECT_EQ(run.loop->state().totals.accuracy_last, 0.2);
  EXPECT_EQ(run.loop->state().totals.accuracy_best, 0.1);
  EXPECT_EQ(run.loop->state().totals.best_round, 2u);
}

TEST(RoundLoopEnd, ALossThatIsNotFiniteAtTheEndIsDivergence) {
  FakeFederation federation(std::vector<FakeClient>(2));
  federation.test_samples = 100;
  federation.score_global = [](float) {
    return Score{.samples = 100, .correct = 1, .loss_sum = std::numeric_limits<double>::infinity()};
  };
  Recipe recipe = averaging(3);
  recipe.evaluation.every = 4;
  FakeRun run(recipe, federation);
  StopReason reason = run.go();
  EXPECT_EQ(reason, StopReason::kRounds);
  ASSERT_TRUE(run.loop->evaluate_end(reason).ok());
  EXPECT_EQ(reason, StopReason::kDiverged);
}

}  // namespace
}  // namespace muster
