// Checkpoints of the round loop, and runs that go on from them.
#include "fake_run.h"

namespace muster {
namespace {

using testing::HasSubstr;

TEST(RoundLoopResume, AResumedRunEndsLikeAnUninterruptedOne) {
  Recipe recipe = by_event();
  recipe.evaluation.on = "clients";
  FakeFederation whole(uneven(), recipe.profile);
  whole.step = up_or_down;
  FakeRun uninterrupted(recipe, whole);
  uninterrupted.go();
  for (const std::uint32_t stop : {1u, 3u, 4u}) {
    FakeFederation federation(uneven(), recipe.profile);
    federation.step = up_or_down;
    FakeRun first(recipe, federation);
    std::atomic<bool> interrupt{false};
    first.options.interrupt = &interrupt;
    first.options.on_round = [&](std::uint32_t round) { interrupt = round == stop; };
    EXPECT_EQ(first.go(), StopReason::kInterrupted);
    federation.saved = "lost";
    FakeRun second(recipe, federation, true, &first);
    ASSERT_TRUE(second.begin(true).ok());
    EXPECT_EQ(second.loop->state().round, stop);
    EXPECT_EQ(federation.saved, "memory");
    ASSERT_TRUE(second.loop->run().ok());
    EXPECT_EQ(second.loop->signature(), uninterrupted.loop->signature()) << stop;
    EXPECT_EQ(second.lines("rounds.jsonl").size(), 6u);
    EXPECT_EQ(second.lines("groups.jsonl"), uninterrupted.lines("groups.jsonl"));
  }
}

TEST(RoundLoopResume, AResumeForgetsWhatTheCheckpointDoesNotKnow) {
  FakeFederation federation(std::vector<FakeClient>(6));
  Recipe recipe = groups_of_size(2, 2);
  recipe.plan.regroup.every = 1;
  FakeRun run(recipe, federation);
  run.go();
  const Lines groups = run.lines("groups.jsonl");
  ASSERT_TRUE(run.folder->append_grouping(R"({"round":3,"members":[]})").ok());
  ASSERT_TRUE(run.folder->append_round({.round = 3}).ok());
  FakeRun again(recipe, federation, true, &run);
  ASSERT_TRUE(again.begin(true).ok());
  EXPECT_EQ(again.lines("rounds.jsonl").size(), 2u);
  EXPECT_EQ(again.lines("groups.jsonl"), groups);
}

TEST(RoundLoopResume, ACheckpointOfAnotherRecipeIsRefused) {
  FakeFederation federation(std::vector<FakeClient>(4));
  FakeRun run(averaging(2), federation);
  run.go();
  Recipe other = averaging(2);
  other.local.learning_rate = 0.5;
  FakeRun again(other, federation, true, &run);
  const Status status = again.begin(true);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::kUsage);
  EXPECT_THAT(status.error().message, HasSubstr("local.learning-rate is 0.5, but the run began with 0.01"));
  Recipe longer = averaging(5);
  FakeRun extended(longer, federation, true, &run);
  EXPECT_TRUE(extended.begin(true).ok());
}

TEST(RoundLoopResume, CheckpointsAreWrittenEveryFewRounds) {
  FakeFederation federation(std::vector<FakeClient>(2));
  federation.breaks_in = 6;
  Recipe recipe = averaging(9);
  recipe.checkpoint_every = 2;
  FakeRun run(recipe, federation);
  ASSERT_TRUE(run.begin().ok());
  EXPECT_FALSE(run.loop->run().ok());
  const auto files = list_checkpoints(run.folder->checkpoints());
  ASSERT_FALSE(files.empty());
  EXPECT_EQ(read_checkpoint(files.front())->round, 4u);
}

TEST(RoundLoopResume, KilledBeforeItsFirstCheckpointARunStartsAnew) {
  FakeFederation federation(std::vector<FakeClient>(2));
  federation.breaks_in = 3;
  Recipe recipe = averaging(4);
  FakeRun run(recipe, federation);
  ASSERT_TRUE(run.begin().ok());
  EXPECT_FALSE(run.loop->run().ok());
  ASSERT_EQ(run.lines("rounds.jsonl").size(), 2u);
  ASSERT_EQ(run.lines("groups.jsonl").size(), 1u);
  FakeRun again(recipe, federation, true, &run);
  ASSERT_TRUE(again.begin(true).ok());
  EXPECT_EQ(again.loop->state().round, 0u);
  EXPECT_TRUE(again.lines("rounds.jsonl").empty());
  EXPECT_TRUE(again.lines("groups.jsonl").empty());
}

TEST(RoundLoopResume, AnExtendedRunDoesNotKnowTheEvaluationAtItsEnd) {
  FakeFederation federation(std::vector<FakeClient>(2));
  federation.test_samples = 100;
  Recipe recipe = averaging(3);
  recipe.evaluation.every = 2;
  FakeRun run(recipe, federation);
  StopReason reason = run.go();
  ASSERT_TRUE(run.loop->evaluate_end(reason).ok());
  ASSERT_FALSE(run.lines("rounds.jsonl")[2]["accuracy"].is_null());
  FakeRun longer(averaging(5), federation, true, &run);
  longer.recipe.evaluation.every = 2;
  ASSERT_TRUE(longer.begin(true).ok());
  ASSERT_EQ(longer.lines("rounds.jsonl").size(), 3u);
  EXPECT_TRUE(longer.lines("rounds.jsonl")[2]["accuracy"].is_null());
  EXPECT_EQ(longer.loop->state().totals.evaluated_round, 2u);
}

TEST(RoundLoopResume, TheClientsLastAccuraciesAndTheTimeSpentComeBack) {
  FakeFederation federation(std::vector<FakeClient>(3));
  federation.score = [](ClientId client, float) {
    return EvaluateReply{Evaluation{.samples = 10, .correct = client.value + 1, .loss_sum = 1}};
  };
  const Recipe recipe = averaging(2);
  FakeRun run(recipe, federation);
  run.go();
  FakeRun again(recipe, federation, true, &run);
  ASSERT_TRUE(again.begin(true).ok());
  EXPECT_THAT(again.loop->client_accuracy(), testing::ElementsAre(0.1f, 0.2f, 0.3f));
  EXPECT_GT(again.loop->state().totals.wall_s, 0);
}

}  // namespace
}  // namespace muster
