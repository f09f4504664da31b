#include "app/bench_ranks.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>

#include "app/child_process.h"
#include "app/temporary_folder.h"
#include "base/random.h"
#include "record/json_text.h"

namespace muster {
namespace {

constexpr double kPatienceS = 900;

struct Workload {
  std::string name;
  double least_ratio = 0;
  std::uint32_t rounds = 1;
  std::vector<std::string> settings;
  std::uint64_t most_models = 0;  // that may travel in a round; 0: no bound
};

// Sentences of numbers, for a network that reads sequences.
Status write_sequences(const std::filesystem::path& path) {
  constexpr std::uint32_t kRows = 1200;
  constexpr std::uint32_t kNumbers = 25 * 8;
  std::ofstream out(path);
  for (std::uint32_t i = 0; i < kNumbers; ++i) out << 'x' << i << ',';
  out << "label\n";
  Stream stream({.seed = 1, .purpose = Purpose::kBench});
  for (std::uint32_t row = 0; row < kRows; ++row) {
    for (std::uint32_t i = 0; i < kNumbers; ++i) out << stream.below(1000) << ',';
    out << (row % 2 == 0 ? "a" : "b") << '\n';
  }
  out.close();
  if (!out) return failure("{}: cannot be written", path.string());
  return {};
}

std::vector<Workload> workloads(const std::filesystem::path& sequences, double scale) {
  const auto rounds = [&](double usual) { return static_cast<std::uint32_t>(std::max(1.0, std::ceil(usual * scale))); };
  const std::vector<std::string> images{"data.source=blobs", "data.partition=iid", "data.clients=100",
                                        "local.batch-size=10", "evaluation.every=10"};
  const auto with = [](std::vector<std::string> settings, std::initializer_list<const char*> more) {
    settings.insert(settings.end(), more.begin(), more.end());
    return settings;
  };
  return {{.name = "softmax, 100 clients a round",
           .least_ratio = 0.85,
           .rounds = rounds(40),
           .settings = with(images, {"model.name=softmax", "plan.sample-clients=100", "local.epochs=5"})},
          {.name = "cnn 20/50, 20 clients a round",
           .least_ratio = 0.95,
           .rounds = rounds(5),
           .settings = with(images, {"model.name=cnn", "model.channels=[20, 50]", "plan.sample-clients=20"})},
          {.name = "lstm 100, 20 clients a round",
           .least_ratio = 0.95,
           .rounds = rounds(5),
           .settings = {"data.source=csv", "data.path=" + sequences.string(), "data.shape=[1, 25, 8]",
                        "data.clients=20", "data.partition=iid", "data.normalize=true", "model.name=lstm",
                        "model.units=100", "plan.sample-clients=20", "evaluation.every=10"}},
          {.name = "femnist-cnn, 30 clients a round",
           .least_ratio = 0.9,
           .rounds = 1,
           .settings = with(images, {"model.name=femnist-cnn", "plan.sample-clients=30"}),
           .most_models = 30 + 2 * 2}};
}

struct Told {
  double seconds = 0;
  std::string signature;
  std::uint64_t rounds = 0;
  nlohmann::json ranks;
};

// Of a run that prints its result as JSON.
Result<Told> read_result(const std::string& command, const std::string& line) {
  const Result<nlohmann::json> parsed = parse_json(line);
  if (!parsed || !parsed->is_object() || !parsed->contains("signature") || !parsed->contains("time")) {
    return failure("{}: did not end with a result", command);
  }
  const nlohmann::json& time = (*parsed)["time"];
  Told told{.seconds = time.value("train_s", 0.0) + time.value("eval_s", 0.0),
            .signature = parsed->value("signature", ""),
            .rounds = parsed->value("rounds", std::uint64_t{1})};
  if (parsed->contains("ranks")) told.ranks = (*parsed)["ranks"];
  return told;
}

class RanksBench {
 public:
  RanksBench(const RanksBenchOptions& options, const TemporaryFolder& folder) : options_(options), folder_(folder) {}

  Result<RanksCase> measure(const Workload& workload) const {
    RanksCase one{.name = workload.name};
    double alone = std::numeric_limits<double>::infinity();
    one.seconds = alone;
    std::string signature;
    for (std::uint32_t i = 0; i < options_.repeats; ++i) {
      MUSTER_ASSIGN(const Told threads, run(workload, false));
      MUSTER_ASSIGN(const Told ranks, run(workload, true));
      if (ranks.signature != threads.signature) {
        return failure("{}: signature {} on ranks, {} on threads", workload.name, ranks.signature, threads.signature);
      }
      signature = ranks.signature;
      alone = std::min(alone, threads.seconds);
      one.seconds = std::min(one.seconds, ranks.seconds);
      one.bytes = ranks.ranks.value("bytes", std::uint64_t{0});
      one.ordered_share = ranks.ranks.value("ordered_share", 0.0);
      for (const auto& bytes : ranks.ranks.value("peak_rss_bytes", std::vector<std::uint64_t>())) {
        one.extra_rank_mb = std::max(one.extra_rank_mb, static_cast<double>(bytes) / (1 << 20));
      }
    }
    one.ratio = alone / one.seconds;
    one.at_most = alone / workload.least_ratio;
    one.checked = "signature " + signature + " on both";
    if (workload.most_models > 0) {
      MUSTER_ASSIGN(const std::uint64_t model, model_bytes(workload));
      // The evaluation at the end sends the model once more.
      one.bytes_at_most = workload.most_models * model * workload.rounds;
    }
    return one;
  }

 private:
  [[nodiscard]] std::vector<std::string> words(const Workload& workload) const {
    std::vector<std::string> list{options_.program,
                                  "run",
                                  "fedavg",
                                  "--quiet",
                                  "--json",
                                  "--seed",
                                  "1",
                                  "--out",
                                  folder_.path().string(),
                                  "--rounds",
                                  std::to_string(workload.rounds)};
    for (const std::string& setting : workload.settings) {
      list.emplace_back("--set");
      list.push_back(setting);
    }
    return list;
  }

  [[nodiscard]] Result<Told> run(const Workload& workload, bool ranks) const {
    std::vector<std::string> command = words(workload);
    command.insert(command.end(), {"--threads", ranks ? "1" : "2"});
    if (ranks) command.insert(command.begin(), {"mpirun", "-n", "2", "--oversubscribe"});
    MUSTER_ASSIGN(ChildProcess child, ChildProcess::start(command, {{"OMPI_ALLOW_RUN_AS_ROOT", "1"},
                                                                    {"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"}}));
    MUSTER_ASSIGN(const std::string line, child.read_line(kPatienceS));
    return read_result(command.front(), line);
  }

  [[nodiscard]] Result<std::uint64_t> model_bytes(const Workload& workload) const {
    std::vector<std::string> command = words(workload);
    command.emplace_back("--dry-run");
    MUSTER_ASSIGN(ChildProcess child, ChildProcess::start(command, {}));
    MUSTER_ASSIGN(const std::string line, child.read_line(kPatienceS));
    MUSTER_ASSIGN(const nlohmann::json told, parse_json(line));
    if (!told.is_object() || !told.contains("parameters")) return failure("a dry run tells no parameters");
    return told.value("parameters", std::uint64_t{0}) * sizeof(float);
  }

  const RanksBenchOptions& options_;
  const TemporaryFolder& folder_;
};

}  // namespace

Result<std::vector<RanksCase>> run_ranks_bench(const RanksBenchOptions& options) {
  MUSTER_ASSIGN(const TemporaryFolder folder, TemporaryFolder::create());
  MUSTER_TRY(write_sequences(folder / "sequences.csv"));
  const RanksBench bench(options, folder);
  std::vector<RanksCase> cases;
  for (const Workload& workload : workloads(folder / "sequences.csv", options.scale)) {
    if (workload.name.find(options.only) == std::string::npos) continue;
    if (options.say) options.say(workload.name);
    MUSTER_ASSIGN(RanksCase one, bench.measure(workload));
    cases.push_back(std::move(one));
  }
  return cases;
}

}  // namespace muster
