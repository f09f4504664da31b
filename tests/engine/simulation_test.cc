#include "engine/simulation.h"

#include <cmath>
#include <fstream>
#include <optional>

#include "record/checkpoint.h"
#include "small_run.h"

namespace muster {
namespace {

TEST_F(SimulationTest, SeedsMatter) {
  EXPECT_NE(run(small({"seed=1"})).signature, run(small({"seed=2"})).signature);
}

TEST_F(SimulationTest, DataAndTrainingMayHaveSeedsOfTheirOwn) {
  const RunSummary usual = run(small({"seed=1", "rounds=1"}));
  EXPECT_EQ(run(small({"seed=1", "data.seed=1", "rounds=1"})).signature, usual.signature);
  EXPECT_NE(run(small({"seed=1", "data.seed=2", "rounds=1"})).signature, usual.signature);
}

TEST_F(SimulationTest, AugmentationReachesTheClients) {
  EXPECT_NE(run(images({"data.augment=true", "rounds=1"})).signature, run(images({"rounds=1"})).signature);
}

TEST_F(SimulationTest, MembersAreWeighedAsTheRecipeSays) {
  const Settings groups{"plan.sample-clients=1.0", "grouping.method=random", "grouping.size=3", "rounds=1"};
  Settings uniform = groups;
  uniform.push_back("aggregation.in-group=uniform");
  EXPECT_NE(run(small(uniform)).signature, run(small(groups)).signature);
}

TEST_F(SimulationTest, StateBeyondItsLimitGoesToDiskBeforeAnyCheckpoint) {
  // About 70,000 numbers of each of five clients: 1.4 MB.
  for (const auto& [limit, on_disk] : {std::pair("1", true), std::pair("2", false)}) {
    SimulationOptions o = options();
    o.out = folder_.path() / limit;
    std::optional<bool> found;
    o.on_round = [&](std::uint32_t round) {
      if (round != 1) return;
      const auto run_folder = std::filesystem::directory_iterator(o.out)->path();
      found = std::filesystem::exists(run_folder / "states") && !std::filesystem::is_empty(run_folder / "states");
    };
    const auto summary =
        simulate(small({"rounds=1", "checkpoint-every=100", "model.hidden=[1000]", "local.objective=dynamic",
                        "aggregation.global=dynamic", std::string("local.state-limit-mb=") + limit}),
                 o);
    ASSERT_TRUE(summary.ok()) << summary.error().message;
    EXPECT_EQ(found, on_disk) << limit;
  }
}

TEST_F(SimulationTest, ATornCheckpointFallsBackToTheOneBefore) {
  const RunSummary whole = run(small());
  const RunSummary first = run(small({"rounds=5"}));
  const auto files = list_checkpoints(first.dir / "checkpoint");
  ASSERT_EQ(files.size(), 2u);
  std::filesystem::resize_file(files.front(), std::filesystem::file_size(files.front()) / 2);
  const auto second = resume(first.run, {"rounds=6"}, options());
  ASSERT_TRUE(second.ok()) << second.error().message;
  EXPECT_EQ(second->signature, whole.signature);
}

TEST_F(SimulationTest, DamagedClientStateFallsBackToTheCheckpointBefore) {
  const Settings settings{"local.objective=control-variate", "aggregation.global=control-variate"};
  const RunSummary whole = run(small(settings));
  Settings shorter = settings;
  shorter.push_back("rounds=5");
  const RunSummary first = run(small(shorter));
  // The states that only the newest checkpoint needs are at the end of the newest log.
  std::filesystem::path newest;
  for (const auto& entry : std::filesystem::directory_iterator(first.dir / "states"))
    newest = std::max(newest, entry.path());
  std::filesystem::resize_file(newest, std::filesystem::file_size(newest) - 100);
  const auto second = resume(first.run, {"rounds=6"}, options());
  ASSERT_TRUE(second.ok()) << second.error().message;
  EXPECT_EQ(second->signature, whole.signature);
}

TEST_F(SimulationTest, StateOnDiskGivesTheSameRun) {
  const Settings settings{"local.objective=dynamic", "aggregation.global=dynamic"};
  Settings spilled = settings;
  spilled.push_back("local.state-limit-mb=0");
  EXPECT_EQ(run(small(spilled), 2).signature, run(small(settings)).signature);
}

TEST_F(SimulationTest, InterruptSavesAndResumeContinues) {
  const RunSummary whole = run(small());
  std::atomic<bool> interrupt{true};  // as if Ctrl-C came in the first round
  SimulationOptions o = options();
  o.interrupt = &interrupt;
  const auto first = simulate(small(), o);
  ASSERT_TRUE(first.ok());
  EXPECT_EQ(first->stopped, StopReason::kInterrupted);
  EXPECT_EQ(first->rounds, 1u);
  const auto second = resume(first->run, {}, options());
  ASSERT_TRUE(second.ok());
  EXPECT_EQ(second->signature, whole.signature);
  // Resuming a finished run changes nothing.
  const auto third = resume(first->run, {}, options());
  ASSERT_TRUE(third.ok());
  EXPECT_EQ(third->signature, whole.signature);
}

TEST_F(SimulationTest, TheWrittenRecipeGivesTheSameRun) {
  const RunSummary first = run(small({"local.epochs=2", "faults.drop=0.2"}));
  const auto recipe = load_recipe((first.dir / "recipe.toml").string());
  ASSERT_TRUE(recipe.ok());
  EXPECT_EQ(run(*recipe).signature, first.signature);
}

TEST_F(SimulationTest, ProximalWithoutWeightIsFederatedAveraging) {
  EXPECT_EQ(run(small({"local.objective=prox", "local.mu=0"})).signature, run(small()).signature);
}

TEST_F(SimulationTest, FirstRoundOfControlVariatesIsUniformAveraging) {
  const RunSummary scaffold =
      run(small({"rounds=1", "local.objective=control-variate", "aggregation.global=control-variate"}));
  const RunSummary uniform = run(small({"rounds=1", "aggregation.global=uniform"}));
  EXPECT_EQ(scaffold.accuracy_last, uniform.accuracy_last);
  EXPECT_EQ(scaffold.loss_last, uniform.loss_last);
  EXPECT_EQ(scaffold.bytes_up, 2 * uniform.bytes_up);
}

TEST_F(SimulationTest, SequentialSingletonsAreParallelSingletons) {
  EXPECT_EQ(run(small({"training.mode=sequential"})).signature, run(small()).signature);
}

TEST_F(SimulationTest, CentralisedIsOneClientWithEverything) {
  const RunSummary summary = run(recipe_of({kSmallRun,
                                            {"data.source=blobs", "data.partition=iid", "data.clients=1",
                                             "data.samples-max=3000", "data.samples-min=3000", "rounds=10"}}));
  EXPECT_EQ(summary.clients, 1u);
  EXPECT_GT(*summary.accuracy_last, 0.7);
}

TEST_F(SimulationTest, DropsAreRecordedWithTheirReasonsAndCounted) {
  const RunSummary summary = run(small({"faults.drop=0.3", "faults.nan=0.3", "faults.straggle=0.3", "rounds=10"}));
  std::map<std::string, int> reasons;
  for (const auto& line : lines(summary.dir / "rounds.jsonl")) {
    EXPECT_EQ(line["participants"].get<int>() + static_cast<int>(line["dropped"].size()), 5);
    for (const auto& dropped : line["dropped"]) ++reasons[dropped["reason"].get<std::string>()];
  }
  EXPECT_GT(reasons["dropped"], 0);
  EXPECT_GT(reasons["straggler"], 0);
  EXPECT_GT(reasons["non-finite"], 0);
  EXPECT_TRUE(std::isfinite(*summary.loss_last));
}

TEST_F(SimulationTest, WhenEverybodyVanishesTheModelStays) {
  const RunSummary summary = run(small({"faults.drop=1"}));
  EXPECT_EQ(summary.rounds, 6u);
  EXPECT_EQ(summary.stopped, StopReason::kRounds);
  const auto rounds = lines(summary.dir / "rounds.jsonl");
  EXPECT_EQ(rounds.front()["loss"], rounds.back()["loss"]);
  EXPECT_TRUE(rounds.back()["train_loss"].is_null());
}

TEST_F(SimulationTest, DivergenceIsAResult) {
  const RunSummary summary = run(small({"local.learning-rate=1e30", "rounds=50"}));
  EXPECT_EQ(summary.stopped, StopReason::kDiverged);
  EXPECT_LT(summary.rounds, 50u);
}

// Only rounds without a checkpoint are evaluated beside the next one's training.
TEST_F(SimulationTest, EvaluationBesideTrainingChangesNothingInTheRecord) {
  const Settings both{"evaluation.on=both", "data.test-fraction=0.2", "data.source=blobs", "data.partition=dirichlet",
                      "data.alpha=0.3"};
  const RunSummary beside = run(recipe_of({kSmallRun, both, {"checkpoint-every=100"}}), 2);
  const RunSummary after = run(recipe_of({kSmallRun, both, {"checkpoint-every=1"}}), 2);
  EXPECT_EQ(beside.signature, after.signature);
  auto of = [](const RunSummary& summary) {
    std::vector<nlohmann::json> rounds = lines(summary.dir / "rounds.jsonl");
    for (nlohmann::json& round : rounds) round.erase("wall_s");
    return rounds;
  };
  EXPECT_EQ(of(beside), of(after));
  EXPECT_EQ(of(beside).size(), 6u);
  EXPECT_GT(beside.eval_s, 0);
  EXPECT_GT(beside.train_s, 0);
}

TEST_F(SimulationTest, DivergenceStopsTheRunInTheSameRoundHoweverItIsSaved) {
  // One step of this rate makes weights whose products overflow, and nothing but an evaluation notices.
  const Settings wild{"local.learning-rate=1e25", "local.steps=1", "local.batch-size=100", "rounds=50"};
  const RunSummary beside = run(recipe_of({kSmallRun, {"data.source=blobs"}, wild, {"checkpoint-every=100"}}));
  const RunSummary after = run(recipe_of({kSmallRun, {"data.source=blobs"}, wild, {"checkpoint-every=1"}}));
  EXPECT_EQ(beside.stopped, StopReason::kDiverged);
  EXPECT_EQ(after.stopped, StopReason::kDiverged);
  EXPECT_EQ(beside.rounds, after.rounds);
  EXPECT_EQ(beside.signature, after.signature);
  EXPECT_LT(after.rounds, 10u);
}

TEST_F(SimulationTest, StopsAtTargetAndAtBudget) {
  const RunSummary target = run(small({"rounds=60", "target-accuracy=0.4"}));
  EXPECT_EQ(target.stopped, StopReason::kTarget);
  ASSERT_TRUE(target.target_round.has_value());
  EXPECT_EQ(*target.target_round, target.rounds);
  const RunSummary one = run(small({"rounds=1"}));
  const RunSummary budget = run(small({"rounds=60", fmt::format("budget={}", 2.5 * (one.compute_s + one.comm_s))}));
  EXPECT_EQ(budget.stopped, StopReason::kBudget);
  EXPECT_EQ(budget.rounds, 3u);
}

TEST_F(SimulationTest, CountsBytesAndClients) {
  const RunSummary summary = run(small());
  const std::uint64_t model_bytes = 4 * summary.parameters;
  EXPECT_EQ(summary.bytes_down, 6 * 5 * model_bytes);
  EXPECT_EQ(summary.bytes_up, 6 * 5 * model_bytes);
  std::ifstream csv(summary.dir / "clients.csv");
  std::string header;
  std::getline(csv, header);
  EXPECT_EQ(header, "client,name,samples,group,trained,dropped,accuracy,test_samples,filtered,malicious");
  int rows = 0;
  int trained = 0;
  for (std::string line; std::getline(csv, line); ++rows) {
    std::istringstream cells(line);
    std::vector<std::string> cell;
    for (std::string c; std::getline(cells, c, ',');) cell.push_back(c);
    trained += std::stoi(cell.at(4));
  }
  EXPECT_EQ(rows, 12);
  EXPECT_EQ(trained, 30);
  EXPECT_TRUE(std::filesystem::exists(summary.dir / "model.safetensors"));
  EXPECT_TRUE(std::filesystem::exists(summary.dir / "summary.json"));
  ASSERT_EQ(lines(summary.dir / "groups.jsonl").size(), 1u);
}

TEST_F(SimulationTest, VirtualClientsByTheHundredThousand) {
  const RunSummary summary = run(small({"data.clients=200000", "plan.sample-clients=20", "rounds=3"}));
  EXPECT_EQ(summary.clients, 200000u);
  EXPECT_EQ(summary.rounds, 3u);
}

TEST_F(SimulationTest, ErrorsLeaveNoFolderBehind) {
  const auto summary = simulate(images({"data.clients=100000000"}), options());
  ASSERT_FALSE(summary.ok());
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path() / "runs"));
}

TEST_F(SimulationTest, ResumeRefusesToChangeTheRecipe) {
  const RunSummary first = run(small({"rounds=1"}));
  const auto second = resume(first.run, {"local.epochs=3"}, options());
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().code, ErrorCode::kUsage);
  EXPECT_THAT(second.error().message, testing::HasSubstr("local.epochs"));
  EXPECT_FALSE(resume("no-such-run", {}, options()).ok());
}

TEST_F(SimulationTest, EvaluationThatCannotBeIsAnError) {
  const auto summary = simulate(images({"evaluation.on=clients"}), options());
  ASSERT_FALSE(summary.ok());
  EXPECT_THAT(summary.error().message, testing::HasSubstr("data.test-fraction"));
}

}  // namespace
}  // namespace muster
