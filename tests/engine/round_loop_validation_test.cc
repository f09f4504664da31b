// A round loop that judges its models on validation samples: when it stops, and whose models it leaves.
#include "engine/results.h"
#include "fake_run.h"

namespace muster {
namespace {

using testing::Each;
using testing::ElementsAre;

// Validation accuracies of rounds 1, 2, ...: the model's first number is the mean of the steps so far.
struct Judged {
  explicit Judged(std::vector<std::uint32_t> correct_of_100) : correct(std::move(correct_of_100)) {
    federation.test_samples = 100;
    federation.validation_samples = 100;
    federation.score_global = [](float first) {
      return Score{.samples = 100, .correct = static_cast<std::uint64_t>(20 + 5 * first), .loss_sum = 1};
    };
    federation.validate_global = [this](float first) {
      return Score{.samples = 100, .correct = correct[round_of_model(first) - 1], .loss_sum = 1};
    };
    federation.step = [](ClientId) { return 1.0f; };
  }
  // Every round adds one to every number.
  std::size_t round_of_model(float first) const { return static_cast<std::size_t>(first - start + 0.5f); }

  FakeFederation federation{std::vector<FakeClient>{{10, 4}, {10, 4}}};
  std::vector<std::uint32_t> correct;
  float start = 0;
};

Recipe judged(std::uint32_t rounds) {
  Recipe recipe = averaging(rounds);
  recipe.data.validation_fraction = 0.1;
  return recipe;
}

// The first number of the network before round 1.
float start_of(const Recipe& recipe) {
  FakeFederation federation(std::vector<FakeClient>{{10, 4}});
  FakeRun run(recipe, federation);
  EXPECT_TRUE(run.begin().ok());
  return run.loop->models().shared()[0];
}

TEST(RoundLoopValidation, IsRecordedAndDecidesNothingByItself) {
  const Recipe recipe = judged(3);
  Judged world({50, 40, 30});
  world.start = start_of(recipe);
  FakeRun run(recipe, world.federation);
  StopReason reason = run.go();
  EXPECT_EQ(reason, StopReason::kRounds);
  const Lines rounds = run.lines("rounds.jsonl");
  ASSERT_EQ(rounds.size(), 3u);
  EXPECT_EQ(rounds[0]["validation_accuracy"], 0.5);
  EXPECT_EQ(rounds[2]["validation_accuracy"], 0.3);
  EXPECT_EQ(rounds[2]["validation_loss"], 0.01);
  ASSERT_TRUE(run.loop->evaluate_end(reason).ok());
  ASSERT_TRUE(run.loop->score_kept(reason).ok());
  EXPECT_EQ(run.loop->kept_round(), 3u);
  EXPECT_EQ(run.loop->best()->round(), 1u);
  EXPECT_NEAR(run.loop->models().shared()[0], world.start + 3, 1e-5);
}

TEST(RoundLoopValidation, PatienceStopsTheRun) {
  Recipe recipe = judged(9);
  recipe.stop.patience = 2;
  Judged world({30, 50, 50, 40, 90, 90, 90, 90, 90});
  world.start = start_of(recipe);
  FakeRun run(recipe, world.federation);
  EXPECT_EQ(run.go(), StopReason::kPatience);
  EXPECT_EQ(run.loop->state().round, 4u);
  // Resumed it stays over; with more patience it goes on.
  FakeRun again(recipe, world.federation, true, &run);
  ASSERT_TRUE(again.begin(true).ok());
  EXPECT_EQ(*again.loop->run(), StopReason::kPatience);
  EXPECT_EQ(again.loop->state().round, 4u);
  recipe.stop.patience = 3;
  FakeRun longer(recipe, world.federation, true, &run);
  ASSERT_TRUE(longer.begin(true).ok());
  EXPECT_EQ(*longer.loop->run(), StopReason::kPatience);
  EXPECT_EQ(longer.loop->state().round, 8u);
}

TEST(RoundLoopValidation, TheBestModelsAreLeftAndReported) {
  Recipe recipe = judged(5);
  recipe.evaluation.keep = "best";
  Judged world({30, 60, 80, 70, 80});
  world.start = start_of(recipe);
  FakeRun run(recipe, world.federation);
  StopReason reason = run.go();
  EXPECT_EQ(reason, StopReason::kRounds);
  const std::string last = run.loop->signature();
  ASSERT_TRUE(run.loop->evaluate_end(reason).ok());
  ASSERT_TRUE(run.loop->score_kept(reason).ok());
  EXPECT_NE(run.loop->signature(), last);
  EXPECT_NEAR(run.loop->models().shared()[0], world.start + 3, 1e-5);
  // Looked at once more, for its details and on the clients' tests.
  EXPECT_NEAR(world.federation.evaluations.back().global[0], world.start + 3, 1e-5);
  EXPECT_THAT(world.federation.evaluations.back().clients, ElementsAre(0, 1));
  const RunSummary summary = summarise(recipe, *run.loop, world.federation, nullptr, *run.folder, reason, "two");
  EXPECT_EQ(summary.kept_round, 3u);
  EXPECT_EQ(summary.rounds, 5u);
  EXPECT_EQ(summary.validation_best, 0.8);
  EXPECT_EQ(summary.validation_best_round, 3u);
  EXPECT_EQ(summary.evaluated_round, 3u);
  const Lines rounds = run.lines("rounds.jsonl");
  EXPECT_EQ(nlohmann::json(*summary.accuracy_last), rounds[2]["accuracy"]);
  EXPECT_NE(rounds[2]["accuracy"], rounds[4]["accuracy"]);
  EXPECT_EQ(summary.sites.evaluated, 2u);
}

// The closing evaluation may find the best models, too.
TEST(RoundLoopValidation, TheLastModelsMayBeTheBest) {
  Recipe recipe = judged(3);
  recipe.evaluation.keep = "best";
  recipe.evaluation.every = 2;
  Judged world({0, 60, 80});
  world.start = start_of(recipe);
  FakeRun run(recipe, world.federation);
  StopReason reason = run.go();
  EXPECT_EQ(run.loop->best()->round(), 2u);
  ASSERT_TRUE(run.loop->evaluate_end(reason).ok());
  ASSERT_TRUE(run.loop->score_kept(reason).ok());
  EXPECT_EQ(run.loop->kept_round(), 3u);
  EXPECT_EQ(run.lines("rounds.jsonl")[2]["validation_accuracy"], 0.8);
}

// Groups are formed anew in every round: the models that are left are those of the groups of their round.
TEST(RoundLoopValidation, TheGroupsOfTheBestRoundComeBackWithTheirModels) {
  Recipe recipe = groups_of_size(4, 2);
  recipe.data.validation_fraction = 0.1;
  recipe.aggregation.global = "none";
  recipe.plan.regroup.every = 1;
  recipe.evaluation.keep = "best";
  FakeFederation federation(std::vector<FakeClient>(6, {.samples = 10, .test_samples = 4, .validation_samples = 4}));
  std::uint32_t asked = 0;
  federation.validate = [&](ClientId, float) {
    const std::uint32_t round = asked++ / 6 + 1;
    return EvaluateReply{Evaluation{.samples = 4, .correct = round == 2 ? 4u : 1u, .loss_sum = 1}};
  };
  FakeRun run(recipe, federation);
  StopReason reason = run.go();
  ASSERT_TRUE(run.loop->evaluate_end(reason).ok());
  ASSERT_TRUE(run.loop->score_kept(reason).ok());
  EXPECT_EQ(run.loop->kept_round(), 2u);
  // The tests of round 2 are the third evaluation: test and validation in turn.
  const auto& of_round = federation.evaluations[2];
  const auto& of_end = federation.evaluations.back();
  EXPECT_EQ(of_end.model_of, of_round.model_of);
  EXPECT_EQ(of_end.models, of_round.models);
  EXPECT_NE(federation.evaluations[6].models, of_round.models);
}

TEST(RoundLoopValidation, AnInterruptedRunLeavesTheBestSoFarUnseen) {
  Recipe recipe = judged(5);
  recipe.evaluation.keep = "best";
  Judged world({30, 60, 50, 70, 80});
  world.start = start_of(recipe);
  FakeRun run(recipe, world.federation);
  std::atomic<bool> interrupt{false};
  run.options.interrupt = &interrupt;
  run.options.on_round = [&](std::uint32_t round) { interrupt = round == 3; };
  StopReason reason = run.go();
  ASSERT_EQ(reason, StopReason::kInterrupted);
  const std::size_t evaluations = world.federation.evaluations.size();
  ASSERT_TRUE(run.loop->evaluate_end(reason).ok());
  ASSERT_TRUE(run.loop->score_kept(reason).ok());
  EXPECT_EQ(world.federation.evaluations.size(), evaluations);
  EXPECT_EQ(run.loop->kept_round(), 2u);
  EXPECT_NEAR(run.loop->models().shared()[0], world.start + 2, 1e-5);
  EXPECT_EQ(run.loop->final_figures().sites.skipped, "the run was interrupted");
  // The checkpoint has the last models: the run goes on from there, and knows its best.
  FakeRun rest(recipe, world.federation, true, &run);
  ASSERT_TRUE(rest.begin(true).ok());
  EXPECT_NEAR(rest.loop->models().shared()[0], world.start + 3, 1e-5);
  EXPECT_EQ(rest.loop->best()->round(), 2u);
  EXPECT_EQ(*rest.loop->run(), StopReason::kRounds);
  EXPECT_EQ(rest.loop->best()->round(), 5u);
}

TEST(RoundLoopValidation, ACheckpointWithBrokenBestModelsIsRefused) {
  Recipe recipe = judged(3);
  recipe.evaluation.keep = "best";
  Judged world({30, 60, 50});
  world.start = start_of(recipe);
  FakeRun run(recipe, world.federation);
  (void)run.go();
  for (const auto& file : list_checkpoints(run.folder->checkpoints())) {
    auto checkpoint = read_checkpoint(file);
    ASSERT_TRUE(checkpoint.ok());
    checkpoint->put_floats("best.kept.model", std::vector<float>(5));
    ASSERT_TRUE(write_checkpoint(run.folder->checkpoints(), *checkpoint).ok());
  }
  FakeRun again(recipe, world.federation, true, &run);
  EXPECT_FALSE(again.begin(true).ok());
}

}  // namespace
}  // namespace muster
