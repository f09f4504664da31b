// The round loop with clients that answer by heart: what it asks of them, in which order, and what it writes down.
#include "engine/round_loop.h"

#include <map>

#include "fake_run.h"

namespace muster {
namespace {

using testing::Each;
using testing::ElementsAre;

TEST(RoundLoop, EveryRoundStartsFromTheModelOfTheOneBefore) {
  FakeFederation federation(std::vector<FakeClient>{{10}, {30}});
  FakeRun run(averaging(3), federation);
  EXPECT_EQ(run.go(), StopReason::kRounds);
  ASSERT_EQ(federation.trainings.size(), 3u);
  // Clients move by 1 and 2 and have 10 and 30 samples: 1.75 a round.
  const float first = federation.trainings[0].starts[0][0];
  EXPECT_NEAR(federation.trainings[1].starts[0][0], first + 1.75, 1e-5);
  EXPECT_NEAR(federation.trainings[2].starts[1][0], first + 3.5, 1e-5);
  EXPECT_NEAR(run.loop->models().shared()[0], first + 5.25, 1e-5);
  EXPECT_EQ(federation.trainings[0].models, 1u);  // one model for both groups
  std::vector<float> initial(6);
  Stream stream({.seed = run.recipe.seed, .purpose = Purpose::kInitialise});
  federation.network().initialise(initial, stream);
  EXPECT_EQ(federation.trainings[0].starts[0], initial);
}

TEST(RoundLoop, RecordsWhatARoundDid) {
  FakeFederation federation(std::vector<FakeClient>{{10}, {30}, {0}, {20}});
  federation.gone = [](std::uint32_t round, ClientId client) { return round == 2 && client.value == 1; };
  FakeRun run(averaging(2), federation);
  run.go();
  const Lines rounds = run.lines("rounds.jsonl");
  ASSERT_EQ(rounds.size(), 2u);
  EXPECT_EQ(rounds[0]["round"], 1);
  EXPECT_EQ(rounds[0]["participants"], 3);
  EXPECT_EQ(rounds[1]["participants"], 2);
  EXPECT_EQ(rounds[0]["groups"], 3);
  EXPECT_EQ(rounds[0]["idle"], 1);
  EXPECT_EQ(rounds[0]["models"], 1);
  // Losses are k + 0.5, by samples.
  EXPECT_DOUBLE_EQ(rounds[0]["train_loss"], (0.5 * 10 + 1.5 * 30 + 3.5 * 20) / 60);
  EXPECT_DOUBLE_EQ(rounds[1]["train_loss"], (0.5 * 10 + 3.5 * 20) / 30);
  EXPECT_EQ(rounds[0]["bytes_down"], 3 * 6 * 4);
  EXPECT_EQ(rounds[1]["bytes_up"], 2 * 6 * 4);
  EXPECT_EQ(run.loop->state().totals.samples_trained, 60u + 30);
  EXPECT_EQ(run.loop->state().totals.bytes_up, 5u * 24);
  EXPECT_EQ(run.loop->tally({1}).dropped, 1u);
  EXPECT_EQ(run.loop->tally({0}).trained, 2u);
}

TEST(RoundLoop, AnErrorInTheMiddleLeavesNoHalfRecordedRound) {
  // Rounds 1 and 2 are evaluated beside the training of 2 and 3; groups are formed anew in every round.
  FakeFederation federation(std::vector<FakeClient>(6));
  federation.test_samples = 100;
  federation.breaks_in = 3;
  Recipe recipe = groups_of_size(5, 2);
  recipe.plan.regroup.every = 1;
  FakeRun run(recipe, federation);
  ASSERT_TRUE(run.begin().ok());
  const auto reason = run.loop->run();
  ASSERT_FALSE(reason.ok());
  EXPECT_EQ(reason.error().message, "the wire is cut");
  const Lines rounds = run.lines("rounds.jsonl");
  ASSERT_EQ(rounds.size(), 2u);
  EXPECT_FALSE(rounds[1]["accuracy"].is_null());  // it was waiting for its evaluation
  const Lines groups = run.lines("groups.jsonl");
  ASSERT_EQ(groups.size(), 2u);
  EXPECT_EQ(groups[1]["round"], 2);
}

TEST(RoundLoop, EvaluatesEveryFewRoundsAndAtTheEnd) {
  FakeFederation federation(std::vector<FakeClient>(3));
  federation.test_samples = 100;
  federation.score_global = [](float first) {
    return Score{.samples = 100, .correct = static_cast<std::uint64_t>(first) % 100, .loss_sum = 10};
  };
  Recipe recipe = averaging(5);
  recipe.evaluation.every = 2;
  FakeRun run(recipe, federation);
  StopReason reason = run.go();
  ASSERT_EQ(federation.evaluations.size(), 2u);
  EXPECT_EQ(run.loop->state().totals.evaluated_round, 4u);
  const std::string before = run.loop->signature();
  ASSERT_TRUE(run.loop->evaluate_end(reason).ok());
  ASSERT_EQ(federation.evaluations.size(), 3u);
  EXPECT_THAT(federation.evaluations[2].global, Each(testing::Ge(federation.evaluations[1].global[0])));
  EXPECT_EQ(federation.evaluations[2].global[0], run.loop->models().shared()[0]);
  EXPECT_NE(run.loop->signature(), before);
  const Lines rounds = run.lines("rounds.jsonl");
  ASSERT_EQ(rounds.size(), 5u);
  EXPECT_TRUE(rounds[0]["accuracy"].is_null());
  EXPECT_FALSE(rounds[1]["accuracy"].is_null());
  EXPECT_TRUE(rounds[2]["accuracy"].is_null());
  EXPECT_FALSE(rounds[4]["accuracy"].is_null());
  EXPECT_EQ(rounds[4]["participants"], 3);
  EXPECT_EQ(run.loop->state().totals.evaluated_round, 5u);
  // Asked again there is nothing left to do, nor after an interruption.
  ASSERT_TRUE(run.loop->evaluate_end(reason).ok());
  EXPECT_EQ(federation.evaluations.size(), 3u);
}

TEST(RoundLoop, ProfilesThatTheNetworkCannotGiveAreRefusedBeforeAnEvent) {
  Recipe recipe = by_event();
  recipe.profile = {.kind = "classifier-weights", .layers = "last-two"};
  FakeFederation federation(uneven(), recipe.profile);
  FakeRun run(recipe, federation);
  const Status status = run.begin();
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().message, "profile.layers: \"last-two\", but the network has 1 dense layer at its end");
}

TEST(RoundLoop, AnInterruptedRunIsNotEvaluatedAtItsEnd) {
  FakeFederation federation(std::vector<FakeClient>(3));
  federation.test_samples = 100;
  Recipe recipe = averaging(5);
  recipe.evaluation.every = 4;
  FakeRun run(recipe, federation);
  std::atomic<bool> interrupt{false};
  run.options.interrupt = &interrupt;
  run.options.on_round = [&](std::uint32_t round) { interrupt = round == 3; };
  StopReason reason = run.go();
  EXPECT_EQ(reason, StopReason::kInterrupted);
  EXPECT_EQ(run.loop->state().round, 3u);
  ASSERT_TRUE(run.loop->evaluate_end(reason).ok());
  EXPECT_TRUE(federation.evaluations.empty());
  EXPECT_EQ(list_checkpoints(run.folder->checkpoints()).size(), 1u);
}

TEST(RoundLoop, StopsInTheRoundThatReachesTheTarget) {
  FakeFederation federation(std::vector<FakeClient>(2));
  federation.test_samples = 100;
  std::uint32_t evaluation = 0;
  federation.score_global = [&](float) { return Score{.samples = 100, .correct = 20 * ++evaluation, .loss_sum = 1}; };
  Recipe recipe = averaging(9);
  recipe.target_accuracy = 0.6;
  FakeRun run(recipe, federation);
  EXPECT_EQ(run.go(), StopReason::kTarget);
  EXPECT_EQ(run.loop->state().round, 3u);
  EXPECT_EQ(federation.trainings.size(), 3u);
}

TEST(RoundLoop, GroupsWithModelsOfTheirOwnAreScoredBeforeTheyTrainAgain) {
  FakeFederation federation(std::vector<FakeClient>(4));
  Recipe recipe = groups_of_size(3, 2);
  recipe.aggregation.global = "none";
  FakeRun run(recipe, federation);
  std::vector<std::size_t> trained_before;
  federation.score = [&](ClientId, float) {
    trained_before.push_back(federation.trainings.size());
    return EvaluateReply{Evaluation{.samples = 10, .correct = 5, .loss_sum = 1}};
  };
  run.go();
  EXPECT_THAT(trained_before, ElementsAre(1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3));
  EXPECT_EQ(federation.trainings[1].models, 2u);
  EXPECT_NE(federation.trainings[1].starts[0], federation.trainings[1].starts[1]);
  const Lines rounds = run.lines("rounds.jsonl");
  EXPECT_EQ(rounds[2]["models"], 2);
  EXPECT_EQ(rounds[2]["group_accuracy"].size(), 2u);
  EXPECT_EQ(rounds[2]["covered"], 1.0);
}

TEST(RoundLoop, ClientsThatKeepTheirModelsAreToldSoAndSignTheRun) {
  Recipe recipe = averaging(2);
  recipe.aggregation.global = "none";
  const auto signature = [&](float step) {
    FakeFederation federation(std::vector<FakeClient>(3));
    federation.step = [=](ClientId client) { return step * static_cast<float>(client.value + 1); };
    FakeRun run(recipe, federation);
    run.go();
    EXPECT_TRUE(federation.trainings[0].own_models);
    EXPECT_TRUE(federation.evaluations[0].own_models);
    return run.loop->signature();
  };
  EXPECT_EQ(signature(1), signature(1));
  EXPECT_NE(signature(1), signature(2));
}

// Notes what it sees of a round, in order.
class Watcher final : public RoundObserver {
 public:
  Watcher(std::uint32_t members_from, bool losses) : members_from_(members_from), losses_(losses) {}
  bool wants_members(std::uint32_t round) const override { return round >= members_from_; }
  bool wants_losses(std::uint32_t) const override { return losses_; }
  void prepare(RoundTasks& tasks) override { seen += fmt::format("[{}:{} ", tasks.round, tasks.tasks.size()); }
  void member(const GroupUpdate& update, std::span<const float>) override {
    seen += fmt::format("m{} ", update.members[0].client.value);
  }
  void group(const GroupUpdate& update) override { seen += fmt::format("g{} ", update.group.value); }
  void end(const Models&, RoundRecord& record) override { seen += fmt::format("{}] ", record.participants); }
  void save(Checkpoint& checkpoint) const override { checkpoint.put_string("watcher", seen); }
  Status restore(const Checkpoint& checkpoint) override {
    MUSTER_ASSIGN(seen, checkpoint.get_string("watcher"));
    return {};
  }
  std::string seen;

 private:
  std::uint32_t members_from_;
  bool losses_;
};

TEST(RoundLoop, ObserversSeeEveryRoundInOrder) {
  FakeFederation federation(std::vector<FakeClient>(3));
  Recipe recipe = groups_of_size(2, 3);
  recipe.evaluation.on = "clients";
  FakeRun run(recipe, federation);
  Watcher late(2, false);
  Watcher never(9, true);
  run.options.observers = {&late, &never};
  run.go();
  EXPECT_EQ(late.seen, "[1:1 g0 3] [2:1 m0 m1 m2 g0 3] ");
  EXPECT_EQ(never.seen, "[1:1 g0 3] [2:1 g0 3] ");
  EXPECT_FALSE(federation.trainings[0].wants_members);
  EXPECT_TRUE(federation.trainings[1].wants_members);
  EXPECT_TRUE(federation.trainings[0].measure);
  // They are saved and restored with the rest.
  FakeRun again(recipe, federation, true, &run);
  Watcher back(2, false);
  again.options.observers = {&back};
  ASSERT_TRUE(again.begin(true).ok());
  EXPECT_EQ(back.seen, never.seen);  // the last to save under the name
}

TEST(RoundLoop, ObserversOfMembersAreRefusedWhereASecureSumHidesThem) {
  FakeFederation federation(std::vector<FakeClient>(3));
  Recipe recipe = groups_of_size(2, 3);
  recipe.aggregation.in_group = "secure-sum";
  FakeRun run(recipe, federation);
  Watcher never(9, false);
  run.options.observers = {&never};
  EXPECT_TRUE(run.begin().ok());
  Watcher late(2, false);
  run.options.observers = {&never, &late};
  const Status refused = run.begin();
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kUsage);
  EXPECT_THAT(refused.error().message, testing::HasSubstr("wants what every member sends in round 2"));
}

// Notes from which model each member started.
class StartWatcher final : public RoundObserver {
 public:
  bool wants_members(std::uint32_t) const override { return true; }
  void member(const GroupUpdate& update, std::span<const float> start) override {
    starts[update.members[0].client.value] = start[0];
  }
  std::map<std::uint32_t, float> starts;  // of the last round
};

TEST(RoundLoop, NobodyMeasuresLossesUnasked) {
  FakeFederation federation(std::vector<FakeClient>(3));
  FakeRun run(averaging(1), federation);
  run.go();
  EXPECT_FALSE(federation.trainings[0].measure);
  EXPECT_FALSE(federation.trainings[0].wants_members);
  EXPECT_THAT(federation.trainings[0].epochs, Each(testing::IsEmpty()));
}

TEST(RoundLoop, TheBudgetStopsARunAndTooDearARoundIsNotTheBest) {
  FakeFederation federation(std::vector<FakeClient>(2));
  federation.test_samples = 100;
  std::uint32_t evaluation = 0;
  federation.score_global = [&](float) { return Score{.samples = 100, .correct = 10 * ++evaluation, .loss_sum = 1}; };
  Recipe recipe = averaging(9);
  recipe.cost.server_in_mbps = 1e-3;
  recipe.cost.server_out_mbps = 1e-3;  // 2 clients, 24 bytes each way: 0.768 s a round
  recipe.budget = 2;
  FakeRun run(recipe, federation);
  EXPECT_EQ(run.go(), StopReason::kBudget);
  EXPECT_EQ(run.loop->state().round, 3u);
  EXPECT_EQ(run.loop->state().totals.best_round, 2u);
  EXPECT_DOUBLE_EQ(run.loop->state().totals.accuracy_last.value(), 0.3);
}

}  // namespace
}  // namespace muster
