// Clients with files of their own: the run has the signature of a simulation of one table of all their rows, whoever
// comes first and whatever is interrupted; who does not fit is refused with the reason; newcomers find their place.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "deploy/own_deployment.h"
#include "engine/run_records.h"
#include "recipe/attendance.h"

namespace muster {
namespace {

using testing::HasSubstr;

constexpr const char* kHeader = "age,city,pressure,label\n";

// Rows of one site: two columns of numbers, of which some cells are missing, and one of text.
std::vector<std::string> rows_of_site(std::uint32_t site) {
  std::mt19937 random(site + 1);
  std::normal_distribution<double> normal;
  std::vector<std::string> rows;
  for (std::uint32_t row = 0; row < 24 + 7 * site; ++row) {
    const double age = normal(random);
    const double pressure = normal(random);
    const char* const city = random() % 3 == 0 ? "Rome" : random() % 2 == 0 ? "Ulm" : "Graz";
    const std::string cell = random() % 9 == 0 ? "" : fmt::format("{:.2f}", 50 + 10 * age + site);
    rows.push_back(
        fmt::format("{},{},{:.1f},{}", cell, city, 120 + 15 * pressure, age + pressure > 0 ? "ill" : "well"));
  }
  return rows;
}

class OwnDataDeployed : public SimulationTest {
 protected:
  static constexpr std::uint32_t kSites = 5;
  static std::string name_of(std::uint32_t site) { return fmt::format("site-{}", site); }

  // A file for each site, and one of all with a column of clients.
  void SetUp() override {
    std::string all = std::string("client,") + kHeader;
    for (std::uint32_t site = 0; site < kSites; ++site) {
      std::string own = kHeader;
      for (const std::string& row : rows_of_site(site)) {
        own += row + "\n";
        all += name_of(site) + "," + row + "\n";
      }
      files_.push_back(folder_.write(name_of(site) + ".csv", own));
    }
    all_ = folder_.write("all.csv", all);
  }

  Recipe recipe(const Settings& settings) {
    return recipe_of({{"data.source=csv", fmt::format("data.clients={}", kSites), "data.missing=mean",
                       "evaluation.on=clients", "model.name=mlp", "model.hidden=[8]", "local.batch-size=8",
                       "plan.sample-clients=4", "rounds=4", "checkpoint-every=2"},
                      settings});
  }
  RunSummary simulated(Recipe recipe) {
    recipe.data.path = all_.string();
    return run(recipe);
  }
  RunSummary deployed(OwnDeployment& deployment, const Recipe& recipe, const std::string& resumed = "") {
    const auto summary = deployment.run(recipe, options(1), resumed);
    EXPECT_TRUE(summary.ok()) << summary.error().message;
    return summary.ok() ? *summary : RunSummary{};
  }
  // After two rounds.
  RunSummary interrupted(OwnDeployment& deployment, const Recipe& recipe) {
    std::atomic<bool> interrupt = false;
    SimulationOptions stops = options(1);
    stops.interrupt = &interrupt;
    stops.on_round = [&](std::uint32_t round) { interrupt = round == 2; };
    const auto begun = deployment.run(recipe, stops);
    EXPECT_TRUE(begun.ok()) << begun.error().message;
    EXPECT_TRUE(begun.ok() && begun->stopped == StopReason::kInterrupted);
    return begun.ok() ? *begun : RunSummary{};
  }
  void dial_all(OwnDeployment& deployment) {
    for (std::uint32_t site = 0; site < kSites; ++site) deployment.dial(name_of(site), files_[site]);
  }

  std::vector<std::filesystem::path> files_;
  std::filesystem::path all_;
  ScratchFolder states_;
};

TEST_F(OwnDataDeployed, HasTheSignatureOfOneTableOfAllRows) {
  const Settings grouped{"profile.kind=label-histogram", "grouping.method=mediator", "grouping.size=2",
                         "training.mode=sequential",     "plan.regroup-every=2",     "data.validation-fraction=0.2"};
  const Settings remembering{"local.objective=control-variate", "aggregation.global=control-variate"};
  std::uint32_t edges = 0;
  for (const Settings& settings : {Settings{"data.test-fraction=0.3"}, grouped, remembering}) {
    const Recipe wanted = recipe(settings);
    OwnDeployment deployment(states_.path(), edges++);
    dial_all(deployment);
    const RunSummary summary = deployed(deployment, wanted);
    const RunSummary simulation = simulated(wanted);
    EXPECT_EQ(summary.signature, simulation.signature) << settings[0];
    EXPECT_EQ(slurp(summary.dir / "clients.csv"), slurp(simulation.dir / "clients.csv"));
    EXPECT_EQ(deployment.ended("site-3"), summary.signature);
    // What only a simulation can know is left out.
    const auto told = nlohmann::json::parse(slurp(summary.dir / "summary.json"));
    for (const auto& figure : told["quality"]) EXPECT_TRUE(figure.is_null()) << told["quality"];
  }
}

// The cloud's own, and behind edges: the edge that it was behind is still there for the others.
TEST_F(OwnDataDeployed, AClientThatDoesNotFitIsRefusedAndAnotherTakesItsPlace) {
  const Recipe wanted = recipe({});
  const std::string simulation = simulated(wanted).signature;
  for (const std::uint32_t edges : {0, 2}) {
    OwnDeployment deployment(states_.path() / std::to_string(edges), edges);
    for (std::uint32_t site = 1; site < kSites; ++site) deployment.dial(name_of(site), files_[site]);
    deployment.dial("odd", folder_.write("odd.csv", std::string("age,town,pressure,label\n1,Rome,2,ill\n")));
    std::string why;
    deployment.waiting = [&](std::size_t, std::size_t) {
      if (!why.empty()) return true;
      why = deployment.ended_now("odd");
      if (!why.empty()) deployment.dial(name_of(0), files_[0]);
      return true;
    };
    const RunSummary summary = deployed(deployment, wanted);
    EXPECT_EQ(why, "it has a column 'town', which the other clients do not have; data.drop leaves it out") << edges;
    EXPECT_EQ(summary.signature, simulation) << "who came first does not matter, with " << edges << " edges";
  }
}

TEST_F(OwnDataDeployed, AnEdgeThatIsLostLeavesItsClientsToTheCloud) {
  const Recipe wanted = recipe({"rounds=6", "profile.kind=label-histogram", "grouping.method=mediator",
                                "grouping.size=2", "training.mode=sequential"});
  OwnDeployment deployment(states_.path(), 2);
  dial_all(deployment);
  SimulationOptions watched = options(1);
  watched.on_round = [&](std::uint32_t round) {
    if (round == 2) deployment.lose_edge(0);
  };
  const auto summary = deployment.run(wanted, watched);
  ASSERT_TRUE(summary.ok()) << summary.error().message;
  EXPECT_EQ(summary->signature, simulated(wanted).signature);
  for (const RemoteClients::Attendance& seen : deployment.cloud().attendance()) {
    EXPECT_EQ(seen.by_edge, seen.client.value % 2 == 1) << seen.name;
  }
}

TEST_F(OwnDataDeployed, AnInterruptedRunGoesOnWithTheSameClients) {
  const Recipe wanted = recipe({"local.objective=control-variate", "aggregation.global=control-variate"});
  const RunSummary simulation = simulated(wanted);
  OwnDeployment deployment(states_.path(), 2);
  dial_all(deployment);
  const RunSummary begun = interrupted(deployment, wanted);
  dial_all(deployment);
  const RunSummary summary = deployed(deployment, wanted, begun.run);
  EXPECT_EQ(summary.signature, simulation.signature);
  expect_equal(
      records_of(summary),
      [&] {
        Records whole = records_of(simulation);
        whole.summary = records_of(summary).summary;
        whole.groups = records_of(summary).groups;
        whole.weights = records_of(summary).weights;
        return whole;
      }(),
      "resumed");
}

TEST_F(OwnDataDeployed, AClientWhoseFileHasChangedIsRefusedAndDropsOut) {
  const Recipe wanted = recipe({"plan.sample-clients=5", "rounds=3", "evaluation.every=10"});
  OwnDeployment deployment(states_.path(), 1);
  deployment.round_deadline_s = 1;
  dial_all(deployment);
  const RunSummary begun = interrupted(deployment, wanted);
  dial_all(deployment);
  deployment.dial(name_of(2), folder_.write("changed.csv", slurp(files_[2]) + "44,Rome,120.0,ill\n"));
  const RunSummary summary = deployed(deployment, wanted, begun.run);
  EXPECT_EQ(deployment.ended(name_of(2)),
            "its data have changed since it joined: 39 training and 0 test rows, it told 38 and 0 then");
  const auto rounds = json_lines(summary.dir / "rounds.jsonl");
  ASSERT_EQ(rounds.size(), 3u);
  EXPECT_EQ(rounds[1]["participants"], 5);
  EXPECT_EQ(rounds[2]["participants"], 4);
}

TEST_F(OwnDataDeployed, ANewcomerJoinsBetweenRounds) {
  const Recipe wanted = recipe({"newcomers.round=3", "newcomers.clients=1", "plan.sample-clients=5", "rounds=6",
                                "data.normalize=false", "data.missing=drop"});
  const std::uint32_t late = late_clients(wanted, kSites)[0];
  std::string refused;
  const auto run_with = [&](OwnDeployment& deployment, std::uint32_t stop) {
    for (std::uint32_t site = 0; site < kSites; ++site) {
      if (site != late) deployment.dial(name_of(site), files_[site]);
    }
    std::atomic<bool> interrupt = false;
    SimulationOptions stops = options(1);
    stops.interrupt = &interrupt;
    stops.on_round = [&](std::uint32_t round) {
      interrupt = round == stop;
      if (round != 1) return;
      deployment.dial("odd", folder_.write("odd.csv", std::string(kHeader) + "1,Rome,2,dead\n"));
      refused = deployment.ended("odd");
      deployment.dial(name_of(late), files_[late]);
      EXPECT_TRUE(deployment.arrives({late}));
    };
    const auto summary = deployment.run(wanted, stops);
    EXPECT_TRUE(summary.ok()) << summary.error().message;
    return summary.ok() ? *summary : RunSummary{};
  };
  // It knew all from the start, but for who is there: so the simulation's clients are the same.
  const RunSummary simulation = simulated(wanted);
  OwnDeployment whole(states_.path() / "whole", 2);
  const RunSummary summary = run_with(whole, 100);
  EXPECT_EQ(refused, "it has the label 'dead', which no client had when the run began; there are 2 classes");
  EXPECT_EQ(summary.signature, simulation.signature);
  EXPECT_EQ(slurp(summary.dir / "clients.csv"), slurp(simulation.dir / "clients.csv"));

  // Killed after the newcomer has joined, and gone back to a checkpoint of before.
  OwnDeployment stopped(states_.path() / "stopped");
  const RunSummary begun = run_with(stopped, 4);
  ASSERT_EQ(begun.stopped, StopReason::kInterrupted);
  std::size_t removed = 0;
  for (const auto& file : std::filesystem::directory_iterator(begun.dir / "checkpoint")) {
    if (file.path().filename().string().find("000004") == std::string::npos) continue;
    removed += std::filesystem::remove(file.path()) ? 1 : 0;
  }
  EXPECT_EQ(removed, 1u);
  for (std::uint32_t site = 0; site < kSites; ++site) stopped.dial(name_of(site), files_[site]);
  const RunSummary resumed = deployed(stopped, wanted, begun.run);
  EXPECT_EQ(resumed.signature, summary.signature);
  Records records = records_of(resumed);
  Records uninterrupted = records_of(summary);
  expect_equal(records, uninterrupted, "resumed");
}

TEST_F(OwnDataDeployed, WithoutRoomNobodyJoins) {
  OwnDeployment deployment(states_.path(), 1);
  dial_all(deployment);
  SimulationOptions watched = options(1);
  std::string refused;
  watched.on_round = [&](std::uint32_t round) {
    if (round != 1) return;
    deployment.dial("one-more", files_[0]);
    refused = deployment.ended("one-more");
  };
  ASSERT_TRUE(deployment.run(recipe({}), watched).ok());
  EXPECT_THAT(refused, HasSubstr("the run has its 5 clients (data.clients)"));
}

}  // namespace
}  // namespace muster
