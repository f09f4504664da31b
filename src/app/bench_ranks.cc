#include "app/bench_ranks.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>

#include "app/bench_rate.h"
#include "app/child_process.h"
#include "app/temporary_folder.h"
#include "base/random.h"
#include "record/json_text.h"

namespace muster {
namespace {

constexpr double kPatienceS = 900;
constexpr double kMegabyte = 1 << 20;
// Of a rank besides what its threads train in: program, buffers, models on their way.
constexpr double kExtraRankMb = 100;

constexpr const char* kSequences = "sequences.csv";
constexpr const char* kImages = "images";

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

// Images as MNIST stores them, so many that a second copy of them would show.
Status write_images(const std::filesystem::path& folder, const std::string& part, std::uint32_t count) {
  constexpr std::uint32_t kSide = 28;
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  std::ofstream images(folder / (part + "-images-idx3-ubyte"), std::ios::binary);
  std::ofstream labels(folder / (part + "-labels-idx1-ubyte"), std::ios::binary);
  const auto put = [](std::ofstream& out, std::uint32_t number) {
    for (int shift = 24; shift >= 0; shift -= 8) out.put(static_cast<char>((number >> shift) & 0xff));
  };
  for (const std::uint32_t number : {0x803u, count, kSide, kSide}) put(images, number);
  for (const std::uint32_t number : {0x801u, count}) put(labels, number);
  Stream stream({.seed = 1, .purpose = Purpose::kBench, .part = 1});
  std::array<char, std::size_t{kSide} * kSide> image{};
  for (std::uint32_t i = 0; i < count; ++i) {
    // A row of a few grey levels that depends on the class, in noise that costs little to make.
    const std::uint32_t noise = stream.next();
    const std::uint32_t label = i % 10;
    for (std::size_t pixel = 0; pixel < image.size(); ++pixel) {
      const bool bright = pixel / kSide / 3 == label;
      image[pixel] = static_cast<char>(((noise >> (pixel % 25)) & 0x7f) + (bright ? 100 : 0));
    }
    images.write(image.data(), image.size());
    labels.put(static_cast<char>(label));
  }
  images.close();
  labels.close();
  if (!images || !labels) return failure("{}: cannot be written", folder.string());
  return {};
}

// Each takes some seconds: less is lost in how processes happen to be scheduled.
std::vector<Workload> workloads(const std::filesystem::path& folder, double scale) {
  const auto rounds = [&](double usual) { return static_cast<std::uint32_t>(std::max(1.0, std::ceil(usual * scale))); };
  const std::vector<std::string> images{"data.source=blobs", "data.partition=iid", "data.clients=100",
                                        "local.batch-size=10", "evaluation.every=10"};
  const auto with = [](std::vector<std::string> settings, std::initializer_list<const char*> more) {
    settings.insert(settings.end(), more.begin(), more.end());
    return settings;
  };
  return {{.name = "softmax, 100 clients a round",
           .least_ratio = 0.85,
           .rounds = rounds(160),
           .settings = with(images, {"model.name=softmax", "plan.sample-clients=100", "local.epochs=5"})},
          {.name = "cnn 20/50, 20 clients a round",
           .least_ratio = 0.95,
           .rounds = rounds(15),
           .settings = with(images, {"model.name=cnn", "model.channels=[20, 50]", "plan.sample-clients=20"})},
          {.name = "lstm 100, 20 clients a round",
           .least_ratio = 0.95,
           .rounds = rounds(20),
           .settings = {"data.source=csv", "data.path=" + (folder / kSequences).string(), "data.shape=[1, 25, 8]",
                        "data.clients=20", "data.partition=iid", "data.normalize=true", "model.name=lstm",
                        "model.units=100", "plan.sample-clients=20", "evaluation.every=10"}},
          {.name = "femnist-cnn, 30 clients a round",
           .least_ratio = 0.9,
           .rounds = 1,
           .settings = with(images, {"model.name=femnist-cnn", "plan.sample-clients=30"}),
           .most_models = 30 + 2 * 2},
          {.name = "softmax, 235 MB of images",
           .least_ratio = 0.85,
           .rounds = rounds(200),
           .settings = {"data.source=idx", "data.path=" + (folder / kImages).string(), "data.clients=1000",
                        "data.partition=iid", "model.name=softmax", "plan.sample-clients=100", "local.batch-size=10",
                        "evaluation.every=10"}}};
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
    std::vector<double> seconds;
    std::vector<double> ratios;
    std::string signature;
    for (std::uint32_t i = 0; i < options_.repeats; ++i) {
      // In turns first: a machine that becomes slower or faster favours nobody.
      MUSTER_ASSIGN(const Told first, run(workload, i % 2 == 1));
      MUSTER_ASSIGN(const Told second, run(workload, i % 2 == 0));
      const Told& ranks = i % 2 == 1 ? first : second;
      const Told& threads = i % 2 == 1 ? second : first;
      if (ranks.signature != threads.signature) {
        return failure("{}: signature {} on ranks, {} on threads", workload.name, ranks.signature, threads.signature);
      }
      signature = ranks.signature;
      seconds.push_back(ranks.seconds);
      ratios.push_back(threads.seconds / ranks.seconds);
      one.bytes = ranks.ranks.value("bytes", std::uint64_t{0});
      one.ordered_share = ranks.ranks.value("ordered_share", 0.0);
      for (const auto& other : ranks.ranks.value("others", nlohmann::json::array())) {
        one.extra_rank_mb = std::max(one.extra_rank_mb, other.value("own_bytes", 0.0) / kMegabyte);
        one.extra_rank_at_most_mb = other.value("arena_bytes", 0.0) / kMegabyte + kExtraRankMb;
      }
    }
    one.seconds = rate_of(std::move(seconds)).median;
    one.ratio = rate_of(std::move(ratios)).median;
    one.at_most = one.seconds * one.ratio / workload.least_ratio;
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
  MUSTER_TRY(write_sequences(folder / kSequences));
  MUSTER_TRY(write_images(folder / kImages, "train", 300000));
  MUSTER_TRY(write_images(folder / kImages, "t10k", 1000));
  const RanksBench bench(options, folder);
  std::vector<RanksCase> cases;
  for (const Workload& workload : workloads(folder.path(), options.scale)) {
    if (workload.name.find(options.only) == std::string::npos) continue;
    if (options.say) options.say(workload.name);
    MUSTER_ASSIGN(RanksCase one, bench.measure(workload));
    cases.push_back(std::move(one));
  }
  if (cases.empty()) {
    return usage_error("--case: \"{}\" is in no case's name; want e.g. softmax, cnn, lstm, images", options.only);
  }
  return cases;
}

}  // namespace muster
