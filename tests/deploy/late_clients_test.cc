// Clients that are late, gone or stopped: a round closes at its deadline with what it has, or does not count, and says
// so; lines that break again and again cost nothing but time.
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <set>

#include "base/random.h"
#include "deploy/deployment_in_memory.h"
#include "engine/run_records.h"

namespace muster {
namespace {

class LateClients : public SimulationTest {
 protected:
  Result<RunSummary> deploy(const Recipe& recipe, DeploymentInMemory& deployment) {
    SimulationOptions wanted = options(1);
    wanted.federation = deployment.maker();
    return simulate(recipe, wanted);
  }
  std::mutex mutex_;
  std::string said_;
  EdgeFederationOptions impatient(double quorum) {
    return {
        .round_deadline_s = 1, .member_quorum = quorum, .group_quorum = quorum, .say = [this](const std::string& line) {
          const std::lock_guard lock(mutex_);
          said_ += line + "\n";
        }};
  }
};

// Holds back every reply of the clients from `first` on, in rounds from `round` on: they are stopped, not gone.
MemoryLine::Tap stopped_from(std::uint32_t round, std::uint32_t first, std::shared_ptr<std::atomic<bool>> over) {
  return [=](v1::Frame& frame, bool up) {
    if (!up || !frame.has_reply()) return true;
    const v1::TaskId& id = frame.reply().id();
    while (id.round() >= round && id.client() >= first && !*over)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return true;
  };
}

TEST_F(LateClients, ARoundClosesAtItsDeadlineWithWhatItHas) {
  const auto over = std::make_shared<std::atomic<bool>>(false);
  DeploymentInMemory deployment({.processes = 3, .federation = impatient(0), .tap = stopped_from(2, 8, over)});
  const auto summary = deploy(small({"rounds=3", "plan.sample-clients=12", "evaluation.on=global"}), deployment);
  *over = true;
  ASSERT_TRUE(summary.ok()) << summary.error().message;
  const auto rounds = lines(summary->dir / "rounds.jsonl");
  ASSERT_EQ(rounds.size(), 3u);
  EXPECT_EQ(rounds[0]["participants"], 12);
  for (const std::size_t late : {1u, 2u}) {
    EXPECT_EQ(rounds[late]["participants"], 8) << rounds[late];
    EXPECT_EQ(rounds[late]["dropped"].size(), 4u) << rounds[late];
  }
}

TEST_F(LateClients, ARoundWithoutItsQuorumDoesNotCountAndSaysSo) {
  const auto over = std::make_shared<std::atomic<bool>>(false);
  DeploymentInMemory deployment({.processes = 3, .federation = impatient(0.9), .tap = stopped_from(2, 8, over)});
  const auto summary = deploy(small({"rounds=2", "plan.sample-clients=12", "evaluation.on=global"}), deployment);
  *over = true;
  ASSERT_TRUE(summary.ok()) << summary.error().message;
  const auto rounds = lines(summary->dir / "rounds.jsonl");
  EXPECT_EQ(rounds[1]["participants"], 0);
  EXPECT_EQ(rounds[1]["loss"], rounds[0]["loss"]) << "the model stays as it was";
  EXPECT_NE(said_.find("round 2 is abandoned: 8 of 12 groups answered, want 90 %"), std::string::npos) << said_;
}

// Counts clients that are told down their lines that their work was not used, by the reason.
struct NotUsed {
  MemoryLine::Tap watching(MemoryLine::Tap inner) {
    return [this, inner = std::move(inner)](v1::Frame& frame, bool up) {
      if (!up && frame.has_verdict() && !frame.verdict().used()) {
        const std::lock_guard lock(mutex);
        told[frame.verdict().reason()].insert(frame.verdict().id().client());
      }
      return inner(frame, up);
    };
  }
  std::size_t count(const std::string& reason) {
    const std::lock_guard lock(mutex);
    return told[reason].size();
  }
  std::mutex mutex;
  std::map<std::string, std::set<std::uint32_t>> told;
};

TEST_F(LateClients, WhoIsLateIsToldThatItsWorkWasNotUsed) {
  for (const std::uint32_t edges : {0u, 1u}) {
    const auto over = std::make_shared<std::atomic<bool>>(false);
    NotUsed told;
    DeploymentInMemory deployment(
        {.edges = edges, .federation = impatient(0), .tap = told.watching(stopped_from(1, 8, over))});
    const auto summary = deploy(small({"rounds=1", "plan.sample-clients=12", "evaluation.on=global"}), deployment);
    ASSERT_TRUE(summary.ok()) << summary.error().message;
    EXPECT_GE(told.count("the round did not wait for it any longer"), 4u) << edges << " edges";
    *over = true;
  }
}

// The slow one costs its share of the deadline, and the chain goes on with the others.
TEST_F(LateClients, AChainPassesOverWhoIsSlow) {
  for (const std::uint32_t edges : {0u, 1u}) {
    const auto over = std::make_shared<std::atomic<bool>>(false);
    NotUsed told;
    EdgeFederationOptions terms = impatient(0);
    terms.round_deadline_s = 2;
    DeploymentInMemory deployment(
        {.edges = edges, .processes = 12, .federation = terms, .tap = told.watching(stopped_from(1, 11, over))});
    const auto begun = std::chrono::steady_clock::now();
    const auto summary = deploy(small({"rounds=1", "plan.sample-clients=12", "evaluation.on=global",
                                       "training.mode=sequential", "grouping.method=random", "grouping.size=4"}),
                                deployment);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begun;
    *over = true;
    ASSERT_TRUE(summary.ok()) << summary.error().message;
    const auto rounds = lines(summary->dir / "rounds.jsonl");
    EXPECT_EQ(rounds[0]["participants"], 11) << rounds[0];
    EXPECT_EQ(rounds[0]["dropped"].size(), 1u) << rounds[0];
    EXPECT_EQ(told.count("the round did not wait for it any longer"), 1u);
    // Last of its chain it may have all that is left; the deadline itself is never passed.
    EXPECT_LT(took.count(), 2 + 3) << edges << " edges";
  }
}

TEST_F(LateClients, OverSelectionGoesOnWithThoseWhoAnswerFirst) {
  struct Case {
    std::uint32_t edges;
    Settings groups;
  };
  const Settings grouped{"grouping.method=random", "grouping.size=6", "plan.sample-clients=6"};
  for (const Case& each : {Case{0, {"plan.sample-clients=6"}}, Case{1, grouped}}) {
    const auto over = std::make_shared<std::atomic<bool>>(false);
    NotUsed told;
    EdgeFederationOptions terms = impatient(0);
    terms.round_deadline_s = 2.5;  // only the scores at the end wait for it, once
    terms.over_select = 10;
    // One client of each group of six, or two of the twelve that are asked, never answer.
    DeploymentInMemory deployment(
        {.edges = each.edges, .processes = 12, .federation = terms, .tap = told.watching(stopped_from(1, 11, over))});
    Settings settings{"rounds=3", "evaluation.on=global"};
    settings.insert(settings.end(), each.groups.begin(), each.groups.end());
    const auto begun = std::chrono::steady_clock::now();
    const auto summary = deploy(small(settings), deployment);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begun;
    *over = true;
    ASSERT_TRUE(summary.ok()) << summary.error().message;
    EXPECT_LT(took.count(), 2 * 2.5);
    for (const auto& round : lines(summary->dir / "rounds.jsonl")) {
      EXPECT_GE(round["participants"], 6) << round;
      EXPECT_LT(round["participants"], 12) << round;
      EXPECT_EQ(round["participants"].get<std::size_t>() + round["dropped"].size(), 12u) << round;
      for (const auto& dropped : round["dropped"]) EXPECT_EQ(dropped["reason"], "not-needed") << round;
    }
    EXPECT_GT(told.count("enough others had answered") + told.count("the round did not wait for it any longer"), 0u);
  }
}

TEST_F(LateClients, OverSelectionLeavesChainsAndWholeGroupsAlone) {
  EdgeFederationOptions terms = impatient(0);
  terms.round_deadline_s = 60;
  terms.over_select = 2;
  for (const Settings& settings :
       {Settings{"training.mode=sequential", "grouping.method=random", "grouping.size=4", "rounds=2"},
        Settings{"grouping.method=random", "grouping.size=4", "plan.sample-clients=1.0", "plan.sample-groups=2",
                 "rounds=2"}}) {
    DeploymentInMemory deployment({.federation = terms});
    const Recipe recipe = small(settings);
    const auto summary = deploy(recipe, deployment);
    ASSERT_TRUE(summary.ok()) << summary.error().message;
    EXPECT_EQ(summary->signature, run(recipe).signature);
  }
}

// A simulation does not look at it.
TEST_F(LateClients, OverSelectionIsNothingToASimulation) {
  EXPECT_EQ(run(small({"deployment.over-select=2.0", "rounds=2"})).signature, run(small({"rounds=2"})).signature);
}

// A line is cut at random; the process dials again at once. Everybody answers in the end.
TEST_F(LateClients, LinesThatBreakCostNothingButTime) {
  const Recipe recipe =
      small({"local.objective=control-variate", "aggregation.global=control-variate", "profile.kind=label-histogram",
             "grouping.method=mediator", "grouping.size=3", "training.group-rounds=2", "plan.regroup-every=2"});
  const std::string wanted = run(recipe).signature;
  for (const std::uint32_t edges : {0u, 2u}) {
    const ScratchFolder states;
    std::mutex mutex;
    Stream stream({.seed = 17, .purpose = Purpose::kTest, .round = edges});
    std::atomic<int> cuts = 0;
    DeploymentInMemory deployment({.edges = edges, .states = states.path(), .tap = [&](v1::Frame&, bool) {
                                     const std::lock_guard lock(mutex);
                                     const bool cut = cuts < 40 && stream.below(30) == 0;
                                     cuts += cut ? 1 : 0;
                                     return !cut;
                                   }});
    std::jthread keeper([&](const std::stop_token& stop) { deployment.keep_connected(stop); });
    const auto summary = deploy(recipe, deployment);
    keeper.request_stop();
    keeper.join();
    ASSERT_TRUE(summary.ok()) << summary.error().message;
    EXPECT_EQ(summary->signature, wanted) << edges << " edges";
    EXPECT_GT(cuts, 10);
  }
}

}  // namespace
}  // namespace muster
