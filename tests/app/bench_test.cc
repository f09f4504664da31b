// The benches: their checks can fail, a child that misbehaves is an error and not a wait, and the report has the
// promised fields.
#include <nlohmann/json.hpp>

#include "aggregate/member_merge.h"
#include "app/bench_check.h"
#include "app/bench_csv.h"
#include "app/bench_scale.h"
#include "app/bench_secure.h"
#include "app/bench_store.h"
#include "app/bench_train.h"
#include "app/child_process.h"
#include "process.h"
#include "record/cost_file.h"

namespace muster {
namespace {

using testing::HasSubstr;

Workload workload(std::string_view name) {
  return choose_workloads(name).value().front();
}

TEST(BenchCsv, ReadsWhatItWroteAndTellsItsSpeed) {
  const auto bench = run_csv_bench({.rows = 2500, .columns = 7, .say = {}});
  ASSERT_TRUE(bench.ok()) << bench.error().message;
  EXPECT_EQ(bench->wrong, 0u);
  EXPECT_GT(bench->bytes, 2500u * 7 * 7);
  EXPECT_GT(bench->bytes_per_s, 0);
  EXPECT_NEAR(bench->rows_per_s * static_cast<double>(bench->bytes) / 2500, bench->bytes_per_s,
              1e-6 * bench->bytes_per_s);
  EXPECT_GT(bench->ratio, 0);
}

TEST(BenchStore, ChecksWhatItStoresAndStaysWithinItsLimits) {
  const auto cases =
      run_store_bench({.runs = 103, .rounds = 50, .recorded_rounds = 20, .pairs = 1, .say = [](const std::string&) {}});
  ASSERT_TRUE(cases.ok()) << cases.error().message;
  ASSERT_EQ(cases->size(), 6u);
  for (std::size_t i = 3; i < cases->size(); ++i) EXPECT_TRUE((*cases)[i].ok()) << (*cases)[i].name;
}

SecureBenchOptions small_secure_bench() {
  return {.members = 12,
          .parameters = 3000,
          .many = 60,
          .many_parameters = 1000,
          .neighbours = 20,
          .judged = 20,
          .group_sizes = {4, 6, 8, 10},
          .model_sizes = {1000, 4000},
          .epochs_of = {20, 60},
          .seconds = 0.002,
          .say = [](const std::string&) {}};
}

TEST(BenchSecure, ChecksItsSumsAndHasALimitForEach) {
  const auto cases = run_secure_bench(small_secure_bench());
  ASSERT_TRUE(cases.ok()) << cases.error().message;
  ASSERT_EQ(cases->size(), 6u);
  for (const ScaleCase& c : *cases) {
    EXPECT_GT(c.value, 0) << c.name;
    EXPECT_GT(c.at_most, 0) << c.name;
  }
  // Every word is sent once; what is sent besides is the more, the smaller the model.
  EXPECT_GT((*cases)[2].value, 1);
  EXPECT_GT((*cases)[3].value, (*cases)[2].value);
}

TEST(BenchSecure, FitsEveryOperationThatACostCanBeAskedOf) {
  const auto costs = measure_costs(small_secure_bench());
  ASSERT_TRUE(costs.ok()) << costs.error().message;
  for (const InGroupEntry& entry : in_group_choices()) {
    if (entry.name == "samples-weighted" || entry.name == "uniform") continue;
    const auto curve = operation_curve(*costs, entry.name, 2000);
    ASSERT_TRUE(curve.ok()) << entry.name;
    EXPECT_LE(curve->r2, 1) << entry.name;
    EXPECT_GT(curve->at(10), 0) << entry.name;
  }
  EXPECT_GT(costs->epoch.linear, 0);
  EXPECT_EQ(parse_cost_file(to_text(*costs)).value(), *costs);
  EXPECT_EQ(paper_curves("secure-sum").size(), 4u);
  EXPECT_EQ(paper_curves("flame").size(), 2u);
  EXPECT_TRUE(paper_curves("median").empty());
  EXPECT_EQ(paper_curves("secure-sum")[2].curve.quadratic, 0.01629675);
}

TEST(BenchCheck, AcceptsTheGradientAndRefusesAWrongOne) {
  for (const std::string_view name : {"b", "b1-32", "e1"}) {
    const Workload chosen = workload(name);
    const auto network = make_network(chosen.model, chosen.shape, chosen.classes).value();
    const auto data = make_workload_data(chosen).value();
    std::vector<float> model(network->size());
    Stream stream({.seed = 1, .purpose = Purpose::kInitialise});
    network->initialise(model, stream);
    const BenchBatch batch = first_batch(chosen, *data);
    const std::vector<float> right = batch_gradient(network, model, batch);
    EXPECT_TRUE(check_gradient(network, model, batch, right).ok());

    // Each tensor's part 5 % too long, or missing.
    for (const ParameterTensor& tensor : network->tensors()) {
      for (const float factor : {1.05f, 0.0f}) {
        std::vector<float> wrong = right;
        for (std::size_t i = 0; i < tensor.range.size; ++i) wrong[tensor.range.offset + i] *= factor;
        const Status status = check_gradient(network, model, batch, wrong);
        ASSERT_FALSE(status.ok()) << tensor.name << " times " << factor;
        EXPECT_THAT(status.error().message, HasSubstr(tensor.name));
      }
    }
  }
}

TEST(BenchWorkload, BytesStandForTheSameSamplesAsFloats) {
  Workload chosen = workload("a1");
  const BenchBatch bytes = first_batch(chosen, *make_workload_data(chosen).value());
  chosen.storage = Samples::Storage::kFloats;
  const BenchBatch floats = first_batch(chosen, *make_workload_data(chosen).value());
  EXPECT_EQ(bytes.labels, floats.labels);
  ASSERT_EQ(bytes.rows.size(), floats.rows.size());
  for (std::size_t i = 0; i < bytes.rows.size(); ++i) {
    ASSERT_NEAR(bytes.rows[i], std::clamp(floats.rows[i], -1.0f, 1.0f), 1.0f / 127) << i;
  }
}

TEST(BenchWorkload, EveryOneIsChosenByItsName) {
  EXPECT_EQ(choose_workloads("").value().size(), workloads().size());
  for (const Workload& each : workloads()) EXPECT_EQ(workload(each.name).name, each.name);
  EXPECT_THAT(choose_workloads("a,a2").error().message, HasSubstr(workload_names()));
}

TEST(BenchCheck, LossesMustFallAndAgree) {
  EXPECT_TRUE(check_losses(std::vector{2.0, 1.0}, {}).ok());
  EXPECT_TRUE(check_losses(std::vector{2.0, 1.0}, std::vector{2.001, 1.0005}).ok());
  EXPECT_FALSE(check_losses(std::vector{2.0, 2.0}, {}).ok());
  EXPECT_FALSE(check_losses(std::vector{2.0, 1.0}, std::vector{2.0, 1.002}).ok());
  EXPECT_FALSE(check_losses(std::vector{2.0, std::nan("")}, std::vector{2.0, 1.0}).ok());
}

TEST(BenchRate, IsTheMiddleOfTheWindows) {
  EXPECT_EQ(rate_of({3, 1, 2}).median, 2);
  EXPECT_EQ(rate_of({4, 1, 2, 3}).median, 2.5);
  EXPECT_EQ(rate_of({4, 1, 2}).highest, 4);
}

TEST(BenchScale, MemoryStaysFlatOverRounds) {
  const auto cases = run_scale_bench({.clients = 100'000,
                                      .rounds = 30,
                                      .mnist_rounds = 2,
                                      .models = 3,
                                      .parameters = 100'000,
                                      .say = [](const std::string&) {}});
  ASSERT_TRUE(cases.ok()) << cases.error().message;
  ASSERT_EQ(cases->size(), 5u);
  for (const ScaleCase& c : *cases) {
    EXPECT_GT(c.at_most, 0) << c.name;
    EXPECT_FALSE(c.unit.empty()) << c.name;
  }
  EXPECT_TRUE((*cases)[2].ok()) << (*cases)[2].name << ": " << (*cases)[2].value << " %";
}

TEST(ChildProcess, AnswersLineByLine) {
  ChildProcess child = ChildProcess::start({"cat"}, {}).value();
  ASSERT_TRUE(child.write_line("one").ok());
  ASSERT_TRUE(child.write_line("two").ok());
  EXPECT_EQ(child.read_line(60).value(), "one");
  EXPECT_EQ(child.read_line(60).value(), "two");
}

TEST(ChildProcess, SeesTheAddedEnvironment) {
  ChildProcess child = ChildProcess::start({"printenv", "MUSTER_BENCH_TEST"}, {{"MUSTER_BENCH_TEST", "here"}}).value();
  EXPECT_EQ(child.read_line(60).value(), "here");
}

TEST(ChildProcess, ThatHangsOrDiesOrIsMissingIsAnError) {
  ChildProcess silent = ChildProcess::start({"cat"}, {}).value();
  EXPECT_THAT(silent.read_line(0.05).error().message, HasSubstr("did not answer"));

  ChildProcess gone = ChildProcess::start({"true"}, {}).value();
  EXPECT_THAT(gone.read_line(60).error().message, HasSubstr("ended"));
  EXPECT_FALSE(gone.write_line("anyone?").ok());

  EXPECT_THAT(ChildProcess::start({"no-such-program"}, {}).error().message, HasSubstr("no-such-program"));
}

class BenchCommand : public testing::Test {
 protected:
  Finished bench(std::vector<std::string> words) const {
    words.insert(words.begin(), {MUSTER_BINARY, "bench"});
    return Process(scratch_, words).wait();
  }
  ScratchFolder scratch_;
};

TEST_F(BenchCommand, TrainWithoutAReferenceReportsOurs) {
  const Finished finished =
      bench({"train", "--workload", "a,a1,e3-5", "--seconds", "0.05", "--no-reference", "--json"});
  ASSERT_EQ(finished.status, 0) << finished.err;
  const auto json = nlohmann::json::parse(finished.out);
  EXPECT_TRUE(json["isa"].is_string());
  EXPECT_GT(json["peak_gflops"], 0);
  ASSERT_EQ(json["workloads"].size(), 3u);
  EXPECT_EQ(json["workloads"][0]["workload"], "a");
  EXPECT_TRUE(json["workloads"][0]["wanted_gather_share"].is_null());
  EXPECT_EQ(json["workloads"][1]["wanted_gather_share"], 0.15);
  for (const auto& row : json["workloads"]) {
    EXPECT_EQ(row["checked"], true);
    for (const char* field : {"samples_per_s", "gflops", "roofline_share", "wanted_ratio", "gather_share"}) {
      EXPECT_GT(row[field], 0) << field;
    }
    EXPECT_LT(row["gather_share"], 1);
    for (const char* field :
         {"reference_samples_per_s", "reference_mode", "ratio", "installed_samples_per_s", "installed_ratio"}) {
      EXPECT_TRUE(row[field].is_null()) << field;
    }
  }
  EXPECT_TRUE(json["reference_blas"].is_null());
  EXPECT_TRUE(json.contains("two_workers"));
}

TEST_F(BenchCommand, TrainAgainstPyTorchAgreesAndGivesARatio) {
  const Finished finished = bench({"train", "--workload", "a1", "--seconds", "0.05", "--json"});
  ASSERT_EQ(finished.status, 0) << finished.err;
  const auto json = nlohmann::json::parse(finished.out);
  const auto& row = json["workloads"][0];
  EXPECT_EQ(row["checked"], true);
  if (json["reference"].is_null()) {
    EXPECT_THAT(finished.err, HasSubstr("apt-get install python3-torch"));
    EXPECT_TRUE(row["ratio"].is_null());
    EXPECT_TRUE(json["reference_blas"].is_null());
    GTEST_SKIP() << "NOT COMPARED: there is no PyTorch here";
  }
  EXPECT_NEAR(row["ratio"], row["samples_per_s"].get<double>() / row["reference_samples_per_s"].get<double>(), 1e-9);
  EXPECT_NEAR(row["installed_ratio"], row["samples_per_s"].get<double>() / row["installed_samples_per_s"].get<double>(),
              1e-9);
  const bool warned = finished.err.find("apt-get install libopenblas0-pthread") != std::string::npos;
  EXPECT_EQ(warned, json["reference_blas"] == "reference") << json["reference_blas"];
}

TEST_F(BenchCommand, PhasesMakeUpTheWholeRun) {
  const Finished finished =
      bench({"phases", "fedavg", "--rounds", "2", "--threads", "2", "--json", "--set", "data.source=blobs", "--set",
             "data.clients=20", "--set", "plan.sample-clients=5", "--set", "model.name=cnn"});
  ASSERT_EQ(finished.status, 0) << finished.err;
  const auto json = nlohmann::json::parse(finished.out);
  double share = 0;
  std::vector<std::string> layers;
  for (const auto& part : json["parts"]) {
    share += part["share"].get<double>();
    EXPECT_GE(part["seconds"], 0);
    if (part["part"] == "backward") layers.push_back(part["layer"]);
    const bool always = part["part"] == "forward" || part["part"] == "gather";
    EXPECT_TRUE(!always || part["seconds"] > 0) << part.dump();
  }
  EXPECT_NEAR(share, 1, 0.02);
  EXPECT_THAT(layers, testing::ElementsAre("dense1", "conv2", "conv1"));
  double overhead = 0;
  for (const auto& part : json["parts"]) {
    const std::string name = part["part"];
    if (name == "grouping" || name == "plan" || name == "aggregation" || name == "records")
      overhead += part["seconds"].get<double>();
  }
  EXPECT_GT(overhead, 0);
  EXPECT_NEAR(json["overhead"], overhead / json["run_s"].get<double>(), 1e-9);
}

TEST_F(BenchCommand, PhasesStillAnswerToTheirOldName) {
  EXPECT_EQ(bench({"profile", "demo", "--rounds", "1", "--set", "data.source=blobs", "--json"}).status, 0);
}

TEST_F(BenchCommand, UnknownWorkloadsAreUsageErrors) {
  for (const char* names : {"z", "a,,b", "a,"}) {
    const Finished finished = bench({"train", "--workload", names});
    EXPECT_EQ(finished.status, 2) << names;
    EXPECT_THAT(finished.err, HasSubstr("--workload"));
  }
}

}  // namespace
}  // namespace muster
