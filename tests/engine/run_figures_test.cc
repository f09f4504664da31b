// Whole runs: what the summary, the rounds and the table of clients say of sites, classes and validation.
#include <cmath>
#include <fstream>
#include <set>
#include <sstream>

#include "base/random.h"
#include "small_run.h"

namespace muster {
namespace {

using Json = nlohmann::json;

class RunFiguresTest : public SimulationTest {
 protected:
  static Json summary_of(const RunSummary& run) {
    std::ifstream in(run.dir / "summary.json");
    return Json::parse(in);
  }
  // The cells of a client's line.
  static std::vector<std::vector<std::string>> clients_of(const RunSummary& run) {
    std::vector<std::vector<std::string>> rows;
    std::ifstream in(run.dir / "clients.csv");
    std::string line;
    std::getline(in, line);
    while (std::getline(in, line)) {
      rows.emplace_back();
      std::istringstream cells(line);
      for (std::string cell; std::getline(cells, cell, ',');) rows.back().push_back(cell);
    }
    return rows;
  }
};

TEST_F(RunFiguresTest, SitesAgreeWithTheTableOfClients) {
  const RunSummary run_summary = run(small({"rounds=2"}));
  const Json sites = summary_of(run_summary)["sites"];
  const auto rows = clients_of(run_summary);
  ASSERT_EQ(rows.size(), 12u);
  std::vector<double> accuracies;
  double correct = 0;
  double samples = 0;
  for (const auto& row : rows) {
    accuracies.push_back(std::stod(row.at(6)));
    correct += std::round(accuracies.back() * std::stod(row.at(7)));
    samples += std::stod(row.at(7));
  }
  EXPECT_EQ(sites["evaluated"], 12);
  EXPECT_NEAR(sites["accuracy"].get<double>(), correct / samples, 1e-9);
  const std::uint32_t worst = sites["worst_client"];
  EXPECT_NEAR(sites["worst"].get<double>(), accuracies[worst], 1e-5);
  std::ranges::sort(accuracies);
  EXPECT_NEAR(sites["worst"].get<double>(), accuracies[0], 1e-5);
  EXPECT_NEAR(sites["p10"].get<double>(), accuracies[1], 1e-5);   // place ceil(1.2)
  EXPECT_NEAR(sites["p50"].get<double>(), accuracies[5], 1e-5);   // place 6
  EXPECT_NEAR(sites["p90"].get<double>(), accuracies[10], 1e-5);  // place ceil(10.8)
  EXPECT_TRUE(sites["skipped"].is_null());
}

TEST_F(RunFiguresTest, TheConfusionMatrixAgreesWithTheAccuracy) {
  for (const char* on : {"evaluation.on=global", "evaluation.on=clients"}) {
    const RunSummary run_summary = run(small({"rounds=2", on}));
    const Json summary = summary_of(run_summary);
    const Json metrics = summary["metrics"];
    std::uint64_t diagonal = 0;
    std::uint64_t all = 0;
    ASSERT_EQ(metrics["confusion"].size(), metrics["classes"].size());
    for (std::size_t label = 0; label < metrics["confusion"].size(); ++label) {
      const Json& row = metrics["confusion"][label];
      std::uint64_t of_class = 0;
      for (const Json& cell : row) of_class += cell.get<std::uint64_t>();
      EXPECT_EQ(metrics["classes"][label]["samples"], of_class);
      diagonal += row[label].get<std::uint64_t>();
      all += of_class;
    }
    EXPECT_NEAR(summary["accuracy"]["last"].get<double>(), static_cast<double>(diagonal) / static_cast<double>(all),
                1e-12);
    EXPECT_TRUE(metrics["auc"].is_null());  // of ten classes
    EXPECT_GT(metrics["macro_f1"].get<double>(), 0);
  }
}

TEST_F(RunFiguresTest, RoundsHaveWhatIsAskedFor) {
  const RunSummary plain = run(small({"rounds=1"}));
  const RunSummary with =
      run(small({"rounds=1", "evaluation.on=both", "evaluation.metrics=[\"macro-f1\", \"confusion\"]"}));
  const Json before = lines(plain.dir / "rounds.jsonl")[0];
  const Json round = lines(with.dir / "rounds.jsonl")[0];
  for (const char* field : {"client_worst", "client_p10", "client_p50", "client_p90", "macro_f1", "confusion"}) {
    EXPECT_FALSE(before.contains(field)) << field;
    EXPECT_TRUE(round.contains(field)) << field;
  }
  EXPECT_FALSE(round.contains("classes"));
  const Json summary = summary_of(with);
  EXPECT_EQ(round["macro_f1"], summary["metrics"]["macro_f1"]);
  EXPECT_EQ(round["confusion"], summary["metrics"]["confusion"]);
  EXPECT_EQ(round["client_worst"], summary["sites"]["worst"]);
  EXPECT_EQ(round["client_p50"], summary["sites"]["p50"]);
  EXPECT_EQ(round["client_accuracy"], summary["sites"]["accuracy"]);
}

// Two classes by name, in a file of five sites.
TEST_F(RunFiguresTest, NamesOfClassesAndSitesAppear) {
  std::string csv = "site,x,z,label\n";
  Stream stream({.seed = 4, .purpose = Purpose::kTest});
  for (int i = 0; i < 400; ++i) {
    const double x = stream.normal();
    const double z = stream.normal();
    csv += fmt::format("site{},{},{},{}\n", i % 5, x, z, x + z + stream.normal() > 0 ? "ill" : "well");
  }
  std::ofstream(folder_.path() / "sites.csv") << csv;
  const RunSummary run_summary =
      run(recipe_of({{"data.source=csv", "data.path=" + (folder_.path() / "sites.csv").string(), "data.label=label",
                      "data.client=site", "data.test-fraction=0.25", "model.name=softmax", "rounds=30",
                      "local.learning-rate=0.1", "evaluation.metrics=auc"}}));
  const Json summary = summary_of(run_summary);
  const Json classes = summary["metrics"]["classes"];
  ASSERT_EQ(classes.size(), 2u);
  EXPECT_EQ((std::set<std::string>{classes[0]["name"], classes[1]["name"]}), (std::set<std::string>{"ill", "well"}));
  EXPECT_TRUE(summary["sites"]["worst_client"].get<std::string>().starts_with("site"));
  EXPECT_GT(summary["metrics"]["auc"].get<double>(), 0.7);
  EXPECT_EQ(lines(run_summary.dir / "rounds.jsonl").back()["auc"], summary["metrics"]["auc"]);
}

TEST_F(RunFiguresTest, MetricsChangeNoSignature) {
  const Settings metrics{"evaluation.metrics=[\"confusion\", \"per-class\", \"macro-f1\"]"};
  EXPECT_EQ(run(small(metrics)).signature, run(small(), 2).signature);
}

TEST_F(RunFiguresTest, TheWeightsKeptAreThoseReported) {
  const Settings validation{"data.validation-fraction=0.2", "plan.sample-clients=1", "rounds=8",
                            "evaluation.keep=best"};
  const RunSummary best = run(small(validation));
  const std::vector<Json> rounds = lines(best.dir / "rounds.jsonl");
  std::uint32_t wanted = 0;
  for (std::uint32_t i = 1; i < rounds.size(); ++i) {
    if (rounds[i]["validation_accuracy"] > rounds[wanted]["validation_accuracy"]) wanted = i;
  }
  ASSERT_LT(wanted + 1, rounds.size()) << "the last round is the best: choose other settings";
  const Json summary = summary_of(best);
  EXPECT_EQ(summary["kept_round"], wanted + 1);
  EXPECT_EQ(summary["validation"]["best_round"], wanted + 1);
  EXPECT_EQ(summary["validation"]["best"], rounds[wanted]["validation_accuracy"]);
  EXPECT_EQ(summary["accuracy"]["last"], rounds[wanted]["accuracy"]);
  // A run that ends in that round has the same weights.
  Settings shorter = validation;
  shorter.back() = fmt::format("rounds={}", wanted + 1);
  const RunSummary last = run(small(shorter));
  EXPECT_EQ(summary_of(last)["kept_round"], wanted + 1);
  const auto weights = [](const RunSummary& run_summary) {
    std::ifstream in(run_summary.dir / "model.safetensors", std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(in), {}};
    return bytes.substr(bytes.size() - run_summary.parameters * sizeof(float));
  };
  EXPECT_EQ(weights(best), weights(last));
  EXPECT_EQ(summary_of(last)["sites"], summary["sites"]);
  EXPECT_EQ(summary_of(last)["metrics"], summary["metrics"]);
}

TEST_F(RunFiguresTest, PatienceStops) {
  const RunSummary stopped =
      run(small({"data.validation-fraction=0.2", "stop.patience=1", "stop.min-delta=0.9", "rounds=9"}));
  EXPECT_EQ(stopped.stopped, StopReason::kPatience);
  EXPECT_EQ(stopped.rounds, 2u);
  EXPECT_EQ(summary_of(stopped)["stopped"], "patience");
  const auto on = resume(stopped.dir.string(), {"stop.patience=3"}, options());
  ASSERT_TRUE(on.ok()) << on.error().message;
  EXPECT_EQ(on->rounds, 4u);
}

TEST_F(RunFiguresTest, WhatCannotBeIsRefused) {
  const auto refused = [&](const Settings& settings) {
    const auto summary = simulate(small(settings), options());
    EXPECT_FALSE(summary.ok());
    return summary.ok() ? std::string() : summary.error().message;
  };
  EXPECT_EQ(refused({"stop.patience=3"}), "--set: stop.patience: 3 has no effect without data.validation-fraction > 0");
  EXPECT_EQ(refused({"evaluation.keep=best"}),
            "--set: evaluation.keep: \"best\" has no effect without data.validation-fraction > 0");
  EXPECT_EQ(refused({"evaluation.metrics=auc"}),
            "evaluation.metrics: \"auc\" is for two classes, but the data have 10; want others");
  EXPECT_EQ(refused({"data.samples-min=1", "data.samples-max=2", "data.validation-fraction=0.1", "stop.patience=3"}),
            "stop.patience: 3, but no client has enough samples for data.validation-fraction = 0.1; raise it");
}

}  // namespace
}  // namespace muster
