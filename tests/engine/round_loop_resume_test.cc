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

}  // namespace
}  // namespace muster
