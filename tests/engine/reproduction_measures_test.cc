// What is measured of a run, on runs made up for it.
#include "engine/reproduction_measures.h"

#include <cmath>
#include <fstream>

#include "scratch_folder.h"

namespace muster {
namespace {

double value(const char* measure, const MeasuredRun& run, const MeasureOptions& options = {}) {
  const Measure* const found = find_measure(measure);
  EXPECT_NE(found, nullptr) << measure;
  return found->of(run, options).value_or(NAN);
}

MeasuredRun climbing() {
  MeasuredRun run;
  const double accuracies[] = {0.2, 0.6, 0.5, 0.7};
  for (std::size_t i = 0; i < 4; ++i) {
    run.rounds.push_back({.accuracy = accuracies[i],
                          .loss = 2.0 - accuracies[i],
                          .discrepancy = static_cast<double>(i),
                          .bytes = 1e9,
                          .compute_s = 2,
                          .comm_s = 3,
                          .cost_total_s = 5.0 * static_cast<double>(i + 1)});
  }
  run.summary = {{"accuracy", {{"last", 0.7}}}, {"groups", {{"count", 3}}}};
  return run;
}

TEST(Measures, OfAccuracy) {
  MeasuredRun run = climbing();
  EXPECT_DOUBLE_EQ(value("accuracy-last", run), 70);
  EXPECT_DOUBLE_EQ(value("accuracy-best", run), 70);
  EXPECT_DOUBLE_EQ(value("accuracy-best", run, {.cost_s = 15}), 60);
  EXPECT_DOUBLE_EQ(value("accuracy-tail", run, {.last = 2}), 60);
  EXPECT_DOUBLE_EQ(value("accuracy-tail", run, {.last = 100}), 50);
  EXPECT_DOUBLE_EQ(value("accuracy-median", run), 55);
  EXPECT_DOUBLE_EQ(value("loss-best", run), 1.3);
  run.rounds[3].covered = 0.5;
  EXPECT_DOUBLE_EQ(value("accuracy-best", run), 60) << "an evaluation of some clients does not count";
  for (MeasuredRound& round : run.rounds) round.covered = 0.5;
  EXPECT_DOUBLE_EQ(value("accuracy-best", run), 70) << "unless none has more of them";
}

TEST(Measures, UntilATarget) {
  const MeasuredRun run = climbing();
  EXPECT_EQ(value("rounds-to", run, {.target = 0.6}), 2);
  EXPECT_EQ(value("compute-to", run, {.target = 0.6}), 4);
  EXPECT_EQ(value("sending-to", run, {.target = 0.6}), 6);
  EXPECT_EQ(value("seconds-to", run, {.target = 0.6}), 10);
  EXPECT_EQ(value("gigabytes-to", run, {.target = 0.65}), 4);
  EXPECT_TRUE(std::isinf(value("rounds-to", run, {.target = 0.71})));
  EXPECT_TRUE(std::isnan(value("rounds-to", MeasuredRun{}, {.target = 0.5}))) << "nothing was evaluated";
}

TEST(Measures, OfDiscrepancyAndClusters) {
  MeasuredRun run = climbing();
  EXPECT_DOUBLE_EQ(value("discrepancy-mean", run), 1.5);
  EXPECT_DOUBLE_EQ(value("discrepancy-variance", run), 1.25);
  run.clusters = 3;
  EXPECT_EQ(value("clusters-judged", run), 3) << "where none are planted, their number";
  run.clusters_right = 17;
  EXPECT_EQ(value("clusters-judged", run), 17);
  EXPECT_TRUE(std::isnan(value("cov", run))) << "the run has none";
}

TEST(Measures, OfTheVarianceOfLossesAndOfEpochs) {
  MeasuredRun run;
  EXPECT_TRUE(std::isnan(value("loss-variance", run)));
  EXPECT_TRUE(std::isnan(value("loss-variance-turn", run)));
  EXPECT_TRUE(std::isnan(value("epochs-mean", run)));
  run.rounds = {{.loss_variance = 5, .epochs = 1, .epochs_few = 2},
                {.loss_variance = 3, .epochs = 4, .epochs_few = 6},
                {.loss_variance = 4},
                {.loss_variance = 7}};
  EXPECT_EQ(value("loss-variance-turn", run), 3);
  EXPECT_EQ(value("loss-variance", run), 7);
  run.clusters_round = 2;
  EXPECT_EQ(value("loss-variance", run), 3);
  EXPECT_EQ(value("epochs-mean", run), 4) << "of the last round that adapted them";
  EXPECT_EQ(value("epochs-few", run), 6);
  run.rounds.resize(2);
  EXPECT_TRUE(std::isinf(value("loss-variance-turn", run)));
}

TEST(Measures, OfDistances) {
  MeasuredRun run;
  run.distance_between = 3;
  EXPECT_TRUE(std::isnan(value("distance-contrast", run)));
  run.distance_within = 2;
  EXPECT_EQ(value("distance-contrast", run), 1.5);
  EXPECT_EQ(value("distance-within", run), 2);
  EXPECT_EQ(value("distance-between", run), 3);
}

TEST(Measures, ReadWhatFiguresDraw) {
  const ScratchFolder scratch;
  const auto write = [&](const char* file, const char* text) { std::ofstream(scratch.path() / file) << text; };
  write("summary.json", R"({"quality":{"cpd_median":0.1,"client_cpd_median":0.5}})");
  // A mean of 50 samples: two clients have fewer.
  write("rounds.jsonl",
        R"({"round":1,"loss_variance":0.25,"epochs":{"min":1,"mean":3,"max":6,"clients":[
{"client":0,"samples":100,"epochs":1},{"client":1,"samples":10,"epochs":6},{"client":2,"samples":40,"epochs":2}]}}
)");
  EXPECT_FALSE(read_measured_run(scratch.path()).ok()) << "a record is one line";
  write(
      "rounds.jsonl",
      R"({"round":1,"loss_variance":0.25,"epochs":{"min":1,"mean":3,"max":6,"clients":[{"client":0,"samples":100,"epochs":1},{"client":1,"samples":10,"epochs":6},{"client":2,"samples":40,"epochs":2}]}}
{"round":2,"loss_variance":0.5,"epochs":{"min":1,"mean":3.5,"max":7}}
{"round":3,"loss_variance":0.75}
)");
  write("groups.jsonl",
        R"({"round":2,"count":2,"why":"loss-variance","truth":{"correct":3,"distance_within":2,"distance_between":5}}
)");
  const auto run = read_measured_run(scratch.path());
  ASSERT_TRUE(run.ok()) << run.error().message;
  EXPECT_EQ(value("cpd-clients", *run), 0.5);
  EXPECT_EQ(value("cpd-median", *run), 0.1);
  EXPECT_EQ(value("epochs-few", *run), 4);
  EXPECT_EQ(value("epochs-mean", *run), 3.5);
  EXPECT_EQ(value("loss-variance-turn", *run), 2);
  EXPECT_EQ(value("distance-contrast", *run), 2.5);
}

TEST(Measures, ReadARunsFiles) {
  const ScratchFolder scratch;
  const auto write = [&](const char* file, const char* text) { std::ofstream(scratch.path() / file) << text; };
  write("summary.json", R"({"accuracy":{"last":0.5}})");
  write("rounds.jsonl",
        "{\"round\":1,\"accuracy\":null,\"bytes_up\":1,\"bytes_down\":2}\n"
        "{\"round\":2,\"accuracy\":0.5,\"covered\":0.5}\n");
  write("groups.jsonl",
        R"({"round":1,"count":1,"why":"the run begins","members":[[0,1]]}
{"round":4,"count":2,"why":"regroup-every","members":[[0],[1]],"truth":{"correct":2}}
{"round":5,"count":2,"why":"regroup-every","members":[[0],[1]],"truth":{"correct":2}}
)");
  const auto run = read_measured_run(scratch.path());
  ASSERT_TRUE(run.ok()) << run.error().message;
  EXPECT_EQ(run->rounds.size(), 2u);
  EXPECT_FALSE(run->rounds[0].accuracy);
  EXPECT_EQ(run->rounds[0].bytes, 3);
  EXPECT_EQ(run->rounds[1].covered, 0.5);
  EXPECT_EQ(value("clusters-round", *run), 4) << "they stayed after that";
  EXPECT_EQ(value("clusters", *run), 2);
  EXPECT_EQ(value("clusters-right", *run), 2);
  write("groups.jsonl",
        R"({"round":1,"count":1,"why":"the run begins","members":[[0,1]]}
{"round":3,"count":1,"why":"loss-variance","members":[[0,1]]}
)");
  EXPECT_EQ(value("clusters-round", *read_measured_run(scratch.path())), 3) << "an event counts though nothing changed";
  write("groups.jsonl",
        R"({"round":1,"count":2,"why":"the run begins","members":[[],[]],"truth":{"correct":0}}
{"round":1,"why":"newcomers","placed":[{"client":0,"group":0},{"client":1,"group":0}],"truth":{"correct":1}}
{"round":2,"why":"newcomers","placed":[{"client":0,"group":0},{"client":1,"group":1}],"truth":{"correct":2}}
{"round":3,"why":"newcomers","placed":[{"client":0,"group":0},{"client":1,"group":1}],"truth":{"correct":2}}
)");
  const auto chosen = read_measured_run(scratch.path());
  EXPECT_EQ(value("clusters-round", *chosen), 2) << "clients that choose anew in every round then stayed";
  EXPECT_EQ(value("clusters-right", *chosen), 2);
  write("groups.jsonl", "{\"round\":1,\"count\":1,\"members\":[[\"a\"]]}\n");
  EXPECT_THAT(read_measured_run(scratch.path()).error().message, testing::HasSubstr("groups.jsonl:1"));
  write("rounds.jsonl", "{\"round\":1}\nnonsense\n");
  EXPECT_THAT(read_measured_run(scratch.path()).error().message, testing::HasSubstr("rounds.jsonl:2"));
}

TEST(Measures, AreAllDocumented) {
  std::ifstream in(std::filesystem::path(MUSTER_SOURCE_DIR) / "docs/reproduce.md");
  const std::string page{std::istreambuf_iterator<char>(in), {}};
  for (const Measure& measure : measures()) {
    EXPECT_THAT(page, testing::HasSubstr(fmt::format("| `{}` | {} |\n", measure.name, measure.summary)));
  }
}

}  // namespace
}  // namespace muster
