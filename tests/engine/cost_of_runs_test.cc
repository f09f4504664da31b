#include <fstream>

#include "cost/cost.h"
#include "record/cost_file.h"
#include "small_run.h"

namespace muster {
namespace {

class CostOfRuns : public SimulationTest {};

TEST_F(CostOfRuns, GroupOperationsCountEveryMember) {
  const RunSummary summary =
      run(small({"plan.sample-clients=1.0", "grouping.method=random", "grouping.size=3", "plan.sample-groups=2",
                 "training.group-rounds=2", "local.epochs=2", "cost.model=group-operations", "data.samples-min=110",
                 "data.samples-max=110", "data.test-fraction=0.0", "evaluation.on=auto", "data.source=blobs",
                 "data.partition=iid"}));
  const OperationCoefficients cifar = operation_coefficients({.model = "group-operations"}, "plain");
  const double round_s = 2 * 2 * 3 * (cifar.operation_s(3) + 2 * cifar.epoch_s(110));
  EXPECT_NEAR(summary.compute_s, 6 * round_s, 1e-6 * summary.compute_s);
  EXPECT_EQ(summary.comm_s, 0);
}

TEST_F(CostOfRuns, MeasuredCostsAreTakenFromTheirFileOnce) {
  const MeasuredCosts costs{.operations = {{"secure-sum", 100, {.quadratic = 0.5, .linear = 0, .constant = 1}},
                                           {"flame", 100, {.quadratic = 2, .linear = 0, .constant = 0}}},
                            .epoch = {.linear = 0, .constant = 3}};
  const std::filesystem::path file = options().out / "costs.json";
  std::filesystem::create_directories(options().out);
  std::ofstream(file) << to_text(costs);
  const Settings settings{"plan.sample-clients=1.0",     "grouping.method=random", "grouping.size=3",
                          "cost.model=group-operations", "local.epochs=2",         "cost.file=" + file.string()};
  const RunSummary summary = run(small(settings));
  // Six rounds of twelve members, each with an operation of three and two epochs.
  EXPECT_NEAR(summary.compute_s, 6 * 12 * (0.5 * 9 + 1 + 2 * 3), 1e-9);
  Settings judged = settings;
  judged.push_back("aggregation.in-group=flame");
  EXPECT_NEAR(run(small(judged)).compute_s, 6 * 12 * (2 * 9 + 2 * 3), 1e-9);

  // The run's own recipe has the numbers: it needs the file no more.
  std::filesystem::remove(file);
  Recipe again = load_recipe((summary.dir / "recipe.toml").string()).value();
  EXPECT_EQ(again.cost.file, "");
  EXPECT_EQ(run(again).signature, summary.signature);

  Result<RunSummary> gone = simulate(small(settings), options());
  ASSERT_FALSE(gone.ok());
  EXPECT_THAT(gone.error().message, testing::HasSubstr("costs.json"));
  std::ofstream(file) << "{\"format\":\"another\"}";
  gone = simulate(small(settings), options());
  ASSERT_FALSE(gone.ok());
  EXPECT_THAT(gone.error().message, testing::HasSubstr("no file of costs"));
  Recipe krum = small(settings);
  krum.aggregation.in_group = "krum";
  std::ofstream(file) << to_text(costs);
  gone = simulate(krum, options());
  ASSERT_FALSE(gone.ok());
  EXPECT_THAT(gone.error().message, testing::HasSubstr("no measurements of krum; it has secure-sum, flame"));
}

TEST_F(CostOfRuns, TheBudgetIsOfTheChosenModel) {
  for (const char* model : {"link", "group-operations", "chain"}) {
    const std::string setting = std::string("cost.model=") + model;
    const RunSummary one = run(small({"rounds=1", "plan.sample-clients=1.0", setting}));
    const double round_s = one.compute_s + one.comm_s;
    EXPECT_GT(round_s, 0) << model;
    const RunSummary budget =
        run(small({"rounds=60", "plan.sample-clients=1.0", setting, fmt::format("budget={}", 2.5 * round_s)}));
    EXPECT_EQ(budget.stopped, StopReason::kBudget) << model;
    EXPECT_EQ(budget.rounds, 3u) << model;
  }
}

TEST_F(CostOfRuns, ChainsOfEqualLengthSendWhatTheClosedFormSays) {
  const RunSummary summary = run(small({"plan.sample-clients=1.0", "grouping.method=random", "grouping.size=3",
                                        "plan.sample-groups=0.5", "training.mode=sequential", "cost.model=chain"}));
  const double model_bytes = 4.0 * static_cast<double>(summary.parameters);
  // Six rounds of 2 share K M (FedGSP, Eq. 17): half of twelve clients, both ways.
  EXPECT_EQ(static_cast<double>(summary.bytes_up + summary.bytes_down), 6 * 2 * 0.5 * 12 * model_bytes);
  // At equal rates in both directions the seconds are those of the real bytes.
  EXPECT_NEAR(summary.comm_s, 8 * static_cast<double>(summary.bytes_up + summary.bytes_down) / 567e6, 1e-9);
  // Six rounds of two chains of three: of six visits two downloads and two uploads are not handed on.
  EXPECT_EQ(summary.links.relay, 6 * 8 * static_cast<std::uint64_t>(model_bytes));
  EXPECT_EQ(summary.links.client_server + summary.links.relay, summary.bytes_up + summary.bytes_down);
  EXPECT_EQ(summary.links.edge_cloud, 0u);  // there are no edges
}

TEST_F(CostOfRuns, RecordsGainBytesByLink) {
  const RunSummary summary = run(small({"plan.sample-clients=1.0", "data.edges=2", "grouping.method=random",
                                        "grouping.size=3", "plan.sample-groups=2", "training.group-rounds=2"}));
  std::uint64_t edge_cloud = 0;
  for (const auto& line : lines(summary.dir / "rounds.jsonl")) {
    EXPECT_EQ(line["bytes_relay"], 0);
    EXPECT_EQ(line["bytes_client_server"].get<std::uint64_t>(),
              line["bytes_up"].get<std::uint64_t>() + line["bytes_down"].get<std::uint64_t>());
    edge_cloud += line["bytes_edge_cloud"].get<std::uint64_t>();
  }
  EXPECT_EQ(edge_cloud, 6 * 2 * 2 * 4 * summary.parameters);
  EXPECT_EQ(summary.links.edge_cloud, edge_cloud);
}

TEST_F(CostOfRuns, AResumedRunHasTheSameTotals) {
  const Settings settings{"plan.sample-clients=1.0", "data.edges=2",          "grouping.method=random",
                          "grouping.size=3",         "plan.sample-groups=2",  "training.mode=sequential",
                          "cost.model=chain",        "cost.model-mbytes=25.2"};
  const RunSummary whole = run(small(settings));
  Settings shorter = settings;
  shorter.push_back("rounds=3");
  const auto second = resume(run(small(shorter)).dir.string(), {"rounds=6"}, options());
  ASSERT_TRUE(second.ok()) << second.error().message;
  EXPECT_EQ(second->compute_s, whole.compute_s);
  EXPECT_EQ(second->comm_s, whole.comm_s);
  EXPECT_EQ(second->links.client_server, whole.links.client_server);
  EXPECT_EQ(second->links.relay, whole.links.relay);
  EXPECT_EQ(second->links.edge_cloud, whole.links.edge_cloud);
}

TEST_F(CostOfRuns, ChainsAreNotForMembersSideBySide) {
  const auto summary = simulate(small({"cost.model=chain", "grouping.method=random", "grouping.size=3"}), options());
  ASSERT_FALSE(summary.ok());
  EXPECT_THAT(summary.error().message, testing::HasSubstr("cost.model"));
}

}  // namespace
}  // namespace muster
