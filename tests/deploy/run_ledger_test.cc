// The ledger of deployed runs: complete, as documented, and right in the eyes of a checker that shares no code with us.
#include "deploy/run_ledger.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <limits>

#include "deploy/deployment_in_memory.h"
#include "engine/documented_fields.h"
#include "engine/run_records.h"
#include "ledger_check.h"

namespace muster {
namespace {

using testing::IsEmpty;

class RunLedgerTest : public SimulationTest {
 protected:
  // Begins the recipe's run, or goes on with `resumed`.
  RunSummary deploy(const Recipe& recipe, DeploymentShape shape, const std::string& resumed = "",
                    std::uint32_t interrupt_after = 0) {
    RunLedger ledger({.vectors = folder_ / "vectors"});
    shape.ledger = &ledger;
    shape.states = folder_ / "client-states";
    DeploymentInMemory deployment(std::move(shape));
    SimulationOptions wanted = options(1);
    wanted.observers.push_back(&ledger);
    std::atomic<bool> interrupt{false};
    wanted.interrupt = &interrupt;
    wanted.on_round = [&](std::uint32_t round) { interrupt = interrupt_after > 0 && round >= interrupt_after; };
    wanted.federation = deployment.maker();
    const auto summary = resumed.empty() ? simulate(recipe, wanted) : resume(resumed, {}, wanted);
    EXPECT_TRUE(summary.ok()) << summary.error().message;
    if (!summary.ok()) return {};
    ledger.end_run(*summary);
    return *summary;
  }
  ledger_check::LedgerFindings check(const RunSummary& summary, bool lossless = true) {
    return ledger_check::check_ledger({.run = summary.dir, .vectors = folder_ / "vectors", .lossless = lossless});
  }
  static Recipe grouped(const Settings& settings = {}) {
    Settings all{"profile.kind=label-histogram", "grouping.method=mediator", "grouping.size=3",
                 "plan.sample-clients=9"};
    all.insert(all.end(), settings.begin(), settings.end());
    return small(all);
  }
};

TEST_F(RunLedgerTest, IsAcceptedAndChangesNothing) {
  const Recipe recipe = grouped({"plan.regroup-every=3"});
  const RunSummary alone = run(recipe);
  for (const std::uint32_t edges : {0u, 1u}) {
    const RunSummary deployed = deploy(recipe, {.edges = edges});
    EXPECT_EQ(deployed.signature, alone.signature);
    const auto found = check(deployed);
    EXPECT_THAT(found.faults, IsEmpty()) << edges << " edges";
    EXPECT_EQ(found.rounds, 6u);
    EXPECT_EQ(found.rounds_recomputed, 6u);
    EXPECT_GE(found.groups_recomputed, 18u);
    EXPECT_TRUE(found.ended);
  }
}

TEST_F(RunLedgerTest, GoesOnWithTheRun) {
  const Recipe recipe = grouped({"plan.regroup-every=3"});
  const RunSummary stopped = deploy(recipe, {}, "", 3);
  EXPECT_FALSE(check(stopped).ended);
  const RunSummary whole = deploy(recipe, {}, stopped.dir.string());
  EXPECT_EQ(whole.signature, run(recipe).signature);
  const auto found = check(whole);
  EXPECT_THAT(found.faults, IsEmpty());
  EXPECT_EQ(found.incarnations, 2u);
  EXPECT_EQ(found.rounds_recomputed, 6u);
}

// Every kind of training and of keeping models; what cannot be recomputed is checked for all else.
TEST_F(RunLedgerTest, IsAcceptedForOtherRecipes) {
  const std::vector<Settings> variants{{"training.mode=sequential"},
                                       {"training.group-rounds=2", "aggregation.in-group=uniform"},
                                       {"aggregation.global=none"},
                                       {"local.objective=control-variate", "aggregation.global=control-variate"},
                                       {"faults.drop=0.3", "faults.nan=0.2"}};
  for (const Settings& settings : variants) {
    for (const std::uint32_t edges : {0u, 1u}) {
      Settings all{"rounds=2"};
      all.insert(all.end(), settings.begin(), settings.end());
      EXPECT_THAT(check(deploy(grouped(all), {.edges = edges})).faults, IsEmpty()) << settings[0];
    }
  }
}

// A client that sends numbers that are not finite is told that they are not used, and the ledger says so.
TEST_F(RunLedgerTest, TellsWhatIsNotUsed) {
  const auto told = std::make_shared<std::atomic<int>>(0);
  const auto tap = [told](v1::Frame& frame, bool up) {
    if (up && frame.has_reply() && frame.reply().has_trained() && frame.reply().id().client() == 5) {
      frame.mutable_reply()->mutable_trained()->set_loss(std::numeric_limits<double>::quiet_NaN());
    }
    if (!up && frame.has_verdict() && !frame.verdict().used() && frame.verdict().reason() == "non-finite") ++*told;
    return true;
  };
  const RunSummary summary = deploy(small({"rounds=2", "plan.sample-clients=12"}), {.tap = tap});
  EXPECT_THAT(check(summary).faults, IsEmpty());
  int not_used = 0;
  for (const nlohmann::json& line : lines(summary.dir / "ledger.jsonl")) {
    not_used += line["event"] == "answer" && line["client"] == 5 && line.value("reason", "") == "non-finite" ? 1 : 0;
  }
  EXPECT_EQ(not_used, 2);
  EXPECT_EQ(*told, 2);
}

TEST_F(RunLedgerTest, EveryFieldIsDocumented) {
  std::set<std::string> written;
  const auto collect = [&](const RunSummary& summary) {
    for (const nlohmann::json& line : lines(summary.dir / "ledger.jsonl")) add_fields(line, "", written);
  };
  collect(deploy(grouped({"rounds=2"}), {.edges = 1}));
  collect(deploy(
      small({"rounds=1", "local.objective=control-variate", "aggregation.global=control-variate", "faults.drop=0.5"}),
      {}));
  collect(deploy(small({"rounds=1", "plan.sample-clients=12", "grouping.method=random", "grouping.size=6",
                        "aggregation.in-group=secure-sum"}),
                 {}));
  // Clients that hold back their answers: given up, and refused when they come after all.
  const auto over = std::make_shared<std::atomic<bool>>(false);
  const auto late = [over](v1::Frame& frame, bool up) {
    if (up && frame.has_reply() && frame.reply().id().client() == 11 && !*over) {
      std::this_thread::sleep_for(std::chrono::milliseconds(700));
      *over = true;
    }
    return true;
  };
  collect(
      deploy(small({"rounds=3", "plan.sample-clients=12"}), {.federation = {.round_deadline_s = 0.5}, .tap = late}));
  EXPECT_EQ(written, documented_fields()["ledger.jsonl"]);
}

}  // namespace
}  // namespace muster
