#include "app/bench_network.h"

#include <signal.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <deque>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <thread>

#include "app/background_process.h"
#include "app/bench_clock.h"
#include "app/bench_transfer.h"
#include "app/child_process.h"
#include "app/temporary_folder.h"
#include "app/throw_away_pki.h"
#include "base/file.h"
#include "deploy/identity_check.h"
#include "record/json_text.h"

namespace muster {
namespace {

constexpr double kPatienceS = 900;
constexpr double kLeastGbPerS = 0.4;   // of one stream
constexpr double kMostOverhead = 1.5;  // times the simulation
constexpr double kMostKbOfConnection = 150;
constexpr double kMostCutS = 10;
constexpr std::uint32_t kConnectionsOfProcess = 5;

// Until `holds`, or the patience is over; whether it holds.
bool wait_until(const std::function<bool()>& holds, double patience_s = kPatienceS) {
  const double until = wall_seconds() + patience_s;
  while (!holds()) {
    if (wall_seconds() > until) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return true;
}

// What the process has to itself, in KB: what is mapped from files and what the kernel keeps for sockets is not in it.
double own_kilobytes(int process) {
  std::ifstream in("/proc/" + std::to_string(process) + "/status");
  for (std::string word; in >> word;) {
    double kilobytes = 0;
    if (word == "RssAnon:" && in >> kilobytes) return kilobytes * 1.024;
  }
  return 0;
}

// A cloud and client processes beside this one, over TLS, and what they say.
class WatchedCloud {
 public:
  WatchedCloud(const NetworkBenchOptions& options, const TemporaryFolder& folder, const ThrowAwayPki& pki,
               std::string name)
      : options_(options), pki_(pki), name_(std::move(name)), folder_(folder.path() / name_) {}

  // Softmax regression with clients of a few small samples each, all of them in every round.
  Status start(std::uint32_t clients, std::uint32_t rounds) {
    MUSTER_TRY(make_folder(folder_));
    MUSTER_TRY(write_file(recipe(), fmt::format("name = \"crowd\"\nrounds = {}\n[data]\nsource = \"synthetic\"\n"
                                                "clients = {}\nsamples-min = 10\nsamples-max = 20\n"
                                                "[model]\nname = \"softmax\"\n[local]\nbatch-size = 10\n"
                                                "learning-rate = 0.05\n[evaluation]\nevery = {}\n",
                                                rounds, clients, rounds)));
    MUSTER_ASSIGN(const std::filesystem::path own, pki_.issue({.role = Role::kCloud, .name = name_}));
    const std::filesystem::path announced = folder_ / "address";
    MUSTER_TRY(launch({"cloud", recipe(), "--listen", "127.0.0.1:0", "--announce", announced.string(), "--pki",
                       own.string(), "--out", (folder_ / "runs").string(), "--json"},
                      log()));
    if (!wait_until([&] { return std::filesystem::exists(announced); }, 60))
      return failure("the cloud does not listen");
    MUSTER_ASSIGN(const std::vector<std::uint8_t> bytes, read_file(announced, 256));
    address_.assign(bytes.begin(), bytes.end() - 1);
    return {};
  }

  // Waits until the cloud knows all of them, so that a machine is not asked to start too many at once.
  Status add_clients(const ClientRange& range, std::uint32_t connections) {
    const std::size_t number = processes_.size() - 1;
    const std::string name = fmt::format("{}-{}", name_, number);
    MUSTER_ASSIGN(const std::filesystem::path own,
                  pki_.issue({.role = Role::kClient, .name = name, .clients = {range}}));
    MUSTER_TRY(launch({"client", "--to", address_, "--pki", own.string(), "--connections", std::to_string(connections)},
                      folder_ / (name + ".log")));
    came_ += range.last - range.first + 1;
    return {};
  }
  Status wait_for_all() {
    const std::string wanted = fmt::format("waiting for clients: {} of ", came_);
    if (wait_until([&] { return said(wanted); }, 120)) return {};
    return failure("{} clients did not come; the cloud says:\n{}", came_, text());
  }

  [[nodiscard]] double kilobytes() const { return own_kilobytes(processes_.front().id()); }
  [[nodiscard]] bool said(const std::string& words) const { return text().find(words) != std::string::npos; }
  [[nodiscard]] std::size_t times_said(const std::string& words) const {
    const std::string all = text();
    std::size_t times = 0;
    for (std::size_t at = all.find(words); at != std::string::npos; at = all.find(words, at + 1)) ++times;
    return times;
  }
  // Of the client process that came n-th.
  void signal(std::size_t number, int which) { ::kill(processes_[number + 1].id(), which); }

  // The result of the run, and the cloud's largest memory on the way.
  struct Ended {
    nlohmann::json told;
    double most_kilobytes = 0;
  };
  Result<Ended> end() {
    Ended ended;
    std::optional<int> status;
    const bool over = wait_until([&] {
      ended.most_kilobytes = std::max(ended.most_kilobytes, kilobytes());
      status = processes_.front().wait(0);
      return status.has_value();
    });
    if (!over || *status != 0) return failure("the cloud did not end well; it says:\n{}", text());
    const std::string all = text();
    const std::size_t result = all.rfind("{\"run\"");
    if (result == std::string::npos) return failure("the cloud did not tell its result");
    MUSTER_ASSIGN(ended.told, parse_json(all.substr(result)));
    return ended;
  }

  [[nodiscard]] std::string recipe() const { return (folder_ / "recipe.toml").string(); }

 private:
  [[nodiscard]] std::filesystem::path log() const { return folder_ / "cloud.log"; }
  [[nodiscard]] std::string text() const {
    const Result<std::vector<std::uint8_t>> bytes = read_file(log(), std::uint64_t{64} << 20);
    return bytes ? std::string(bytes->begin(), bytes->end()) : "";
  }
  Status launch(std::vector<std::string> words, const std::filesystem::path& log) {
    words.insert(words.begin(), options_.program);
    MUSTER_ASSIGN(BackgroundProcess process, BackgroundProcess::start(std::move(words), log));
    processes_.push_back(std::move(process));
    return {};
  }

  const NetworkBenchOptions& options_;
  const ThrowAwayPki& pki_;
  const std::string name_;
  const std::filesystem::path folder_;
  std::string address_;
  std::uint32_t came_ = 0;
  std::deque<BackgroundProcess> processes_;  // the cloud, then clients
};

class NetworkBench {
 public:
  NetworkBench(const NetworkBenchOptions& options, const TemporaryFolder& folder, const ThrowAwayPki& pki)
      : options_(options), folder_(folder), pki_(pki) {}

  Result<std::vector<NetworkCase>> run() {
    MUSTER_TRY(transfer());
    MUSTER_TRY(overhead({.name = "fedavg, a cnn of 1.7 MB, 20 clients of 100 samples a round",
                         .rounds = 3,
                         .clients = 40,
                         .samples = 100,
                         .drawn = 20,
                         .model = {"model.name=cnn", "model.channels=[80, 192]"}}));
    MUSTER_TRY(overhead({.name = "fedavg, an mlp of 1.7 MB, 10 clients of 600 samples a round",
                         .rounds = 40,
                         .clients = 20,
                         .samples = 600,
                         .drawn = 10,
                         .model = {"model.name=mlp", "model.hidden=[540]"}}));
    MUSTER_TRY(idle(100));
    MUSTER_TRY(idle(400));
    MUSTER_TRY(crowd(4000, 100 / kConnectionsOfProcess));
    if (cases_.empty()) {
      return usage_error("--case: \"{}\" is in no case's name; want e.g. TLS, fedavg, memory, clients on",
                         options_.only);
    }
    return std::move(cases_);
  }

 private:
  [[nodiscard]] std::uint32_t scaled(double usual, std::uint32_t least) const {
    return std::max(least, static_cast<std::uint32_t>(std::lround(usual * options_.scale)));
  }
  // Whether the case is wanted; says that it is being measured.
  [[nodiscard]] bool wanted(const std::string& name) const { return name.find(options_.only) != std::string::npos; }
  void begin(const std::string& name) const {
    if (options_.say) options_.say(name);
  }

  Status transfer() {
    const std::string up = "models over one TLS stream, client to cloud";
    const std::string down = "models over one TLS stream, cloud to client";
    if (!wanted(up) && !wanted(down)) return {};
    begin("models over one TLS stream");
    MUSTER_ASSIGN(const std::filesystem::path cloud, pki_.issue({.role = Role::kCloud, .name = "listener"}));
    MUSTER_ASSIGN(const std::filesystem::path client, pki_.issue({.role = Role::kClient, .name = "dialler"}));
    MUSTER_ASSIGN(const Security listener, load_security(cloud, false, Role::kCloud, {}));
    MUSTER_ASSIGN(const Security dialler, load_security(client, false, Role::kClient, {}));
    TransferOptions sizes;
    sizes.values = std::max<std::size_t>(1000, static_cast<std::size_t>(options_.scale * 4 * (1 << 20)));
    MUSTER_ASSIGN(const TransferRates plain, measure_transfer(sizes));
    sizes.listener = listener.credentials;
    sizes.dialler = dialler.credentials;
    MUSTER_ASSIGN(const TransferRates secured, measure_transfer(sizes));
    const auto add = [&](const std::string& name, double rate, double reference) {
      if (!wanted(name)) return;
      cases_.push_back({.name = name,
                        .value = rate,
                        .unit = "GB/s",
                        .at_least = kLeastGbPerS,
                        .ratio = rate / reference,
                        .reference = "in plain text",
                        .checked = "every chunk's checksum, and the first model's"});
    };
    add(up, secured.up_gb_per_s, plain.up_gb_per_s);
    add(down, secured.down_gb_per_s, plain.down_gb_per_s);
    return {};
  }

  Result<nlohmann::json> told_by(std::vector<std::string> words) const {
    words.insert(words.begin(), options_.program);
    words.insert(words.end(), {"--quiet", "--json", "--out", (folder_.path() / "runs").string()});
    MUSTER_ASSIGN(ChildProcess child, ChildProcess::start(words, {}));
    MUSTER_ASSIGN(const std::string line, child.read_line(kPatienceS));
    MUSTER_ASSIGN(nlohmann::json told, parse_json(line));
    if (!told.is_object() || !told.contains("signature")) return failure("{}: did not end with a result", words[1]);
    return told;
  }

  struct Workload {
    std::string name;
    std::uint32_t rounds = 1;
    std::uint32_t clients = 1;
    std::uint32_t samples = 1;  // of a client
    std::uint32_t drawn = 1;    // clients of a round
    std::vector<std::string> model;
  };

  // As many client processes as the machine has cores, with a thread each, against as many threads.
  Status overhead(const Workload& workload) {
    if (!wanted(workload.name)) return {};
    begin(workload.name);
    std::vector<std::string> words{"federate",  "fedavg",
                                   "--clients", std::to_string(std::max(1u, std::thread::hardware_concurrency())),
                                   "--rounds",  std::to_string(scaled(workload.rounds, 1))};
    std::vector<std::string> settings{"data.source=blobs",
                                      fmt::format("data.clients={}", workload.clients),
                                      fmt::format("data.samples-min={}", scaled(workload.samples, 20)),
                                      fmt::format("data.samples-max={}", scaled(workload.samples, 20)),
                                      fmt::format("plan.sample-clients={}", workload.drawn),
                                      "evaluation.every=10"};
    settings.insert(settings.end(), workload.model.begin(), workload.model.end());
    for (const std::string& setting : settings) words.insert(words.end(), {"--set", setting});
    const auto spent = [](const nlohmann::json& time) {
      return time.value("train_s", 0.0) + time.value("eval_s", 0.0);
    };
    double deployed_s = std::numeric_limits<double>::infinity();
    double simulated_s = deployed_s;
    std::string signature;
    for (std::uint32_t i = 0; i < options_.repeats; ++i) {
      MUSTER_ASSIGN(const nlohmann::json told, told_by(words));
      if (!told.value("equal", false))
        return failure("{}: the deployed run differs from its simulation", workload.name);
      signature = told.value("signature", "");
      deployed_s = std::min(deployed_s, spent(told["time"]));
      simulated_s = std::min(simulated_s, spent(told["simulation_time"]));
    }
    cases_.push_back({.name = workload.name,
                      .value = deployed_s,
                      .unit = "s",
                      .at_most = kMostOverhead * simulated_s,
                      .ratio = deployed_s / simulated_s,
                      .reference = "the simulation",
                      .checked = "signature " + signature + " of both"});
    return {};
  }

  // Clients that have joined and are asked nothing: one more is waited for.
  Status idle(std::uint32_t usual) {
    const std::uint32_t connections = scaled(usual, 2);
    const std::string name = fmt::format("memory of the cloud with {} idle connections", connections);
    if (!wanted(name)) return {};
    begin(name);
    WatchedCloud cloud(options_, folder_, pki_, fmt::format("idle-{}", usual));
    MUSTER_TRY(cloud.start(connections + 1, 1));
    const double before = cloud.kilobytes();
    const std::uint32_t processes = std::max(1u, connections / 100);
    for (std::uint32_t p = 0; p < processes; ++p) {
      const ClientRange range{p * connections / processes, (p + 1) * connections / processes - 1};
      MUSTER_TRY(cloud.add_clients(range, range.last - range.first + 1));
      MUSTER_TRY(cloud.wait_for_all());
    }
    cases_.push_back({.name = name,
                      .value = (cloud.kilobytes() - before) / connections,
                      .unit = "KB a connection",
                      .at_most = kMostKbOfConnection,
                      .checked = fmt::format("{} clients have joined", connections)});
    return {};
  }

  struct Crowd {
    std::uint32_t clients = 0;
    std::uint32_t processes = 0;
    std::uint32_t connections = 0;  // of each process
    std::uint32_t rounds = 0;
  };
  struct CrowdRun {
    nlohmann::json told;
    double joined_kilobytes = 0;  // of each connection, before the first round
    double most_kilobytes = 0;    // of the cloud, above what it had before anybody came
    double cut_s = 0;
  };
  Result<CrowdRun> run_crowd(const Crowd& crowd, bool with_cut) {
    WatchedCloud cloud(options_, folder_, pki_, fmt::format("crowd-{}", crowds_++));
    MUSTER_TRY(cloud.start(crowd.clients, crowd.rounds));
    const double before = cloud.kilobytes();
    const auto range_of = [&](std::uint32_t p) {
      return ClientRange{p * crowd.clients / crowd.processes, (p + 1) * crowd.clients / crowd.processes - 1};
    };
    // The run begins with the last.
    for (std::uint32_t p = 0; p + 1 < crowd.processes; ++p) {
      MUSTER_TRY(cloud.add_clients(range_of(p), crowd.connections));
      MUSTER_TRY(cloud.wait_for_all());
    }
    CrowdRun run;
    run.joined_kilobytes = (cloud.kilobytes() - before) / ((crowd.processes - 1) * crowd.connections);
    if (with_cut) MUSTER_TRY(measure_cut(cloud, crowd.connections, run.cut_s));
    MUSTER_TRY(cloud.add_clients(range_of(crowd.processes - 1), crowd.connections));
    MUSTER_ASSIGN(WatchedCloud::Ended ended, cloud.end());
    run.told = std::move(ended.told);
    run.most_kilobytes = ended.most_kilobytes - before;
    MUSTER_ASSIGN(const nlohmann::json alone, told_by({"run", cloud.recipe()}));
    if (run.told["signature"] != alone["signature"]) {
      return failure("{} clients: signature {}, the simulation has {}", crowd.clients, run.told.value("signature", ""),
                     alone.value("signature", ""));
    }
    run.told["simulated_s"] = alone["time"].value("train_s", 0.0);
    return run;
  }

  Status crowd(std::uint32_t usual_clients, std::uint32_t usual_processes) {
    Crowd crowd{.processes = scaled(usual_processes, 2), .connections = kConnectionsOfProcess, .rounds = scaled(10, 2)};
    const std::uint32_t connections = crowd.processes * crowd.connections;
    crowd.clients = scaled(usual_clients, connections);
    const std::string what =
        fmt::format("{} clients on {} connections of {} processes", crowd.clients, connections, crowd.processes);
    const std::string joined = what + ": memory of the cloud, all have joined";
    const std::string busy = what + ": memory of the cloud, in rounds";
    const std::string cut = what + ": a cut is seen";
    const std::string round = what + ": a round";
    if (!wanted(joined) && !wanted(busy) && !wanted(cut) && !wanted(round)) return {};
    begin(what);
    MUSTER_ASSIGN(const CrowdRun many, run_crowd(crowd, false));
    const std::string checked = fmt::format("{} rounds of all clients; signature {} of run and simulation",
                                            crowd.rounds, many.told.value("signature", ""));
    const auto add_memory = [&](const std::string& name, double kilobytes) {
      cases_.push_back({.name = name,
                        .value = kilobytes,
                        .unit = "KB a connection",
                        .at_most = kMostKbOfConnection,
                        .checked = checked});
    };
    if (wanted(joined)) add_memory(joined, many.joined_kilobytes);
    if (wanted(cut)) {
      MUSTER_ASSIGN(const CrowdRun interrupted, run_crowd(crowd, true));
      cases_.push_back({.name = cut,
                        .value = interrupted.cut_s,
                        .unit = "s",
                        .at_most = kMostCutS,
                        .checked = fmt::format("{} connections of a process that stands still; it came back later",
                                               kConnectionsOfProcess)});
    }
    if (wanted(busy)) {
      // The run takes memory, too: the same with a connection for each process tells what the others add.
      crowd.connections = 1;
      MUSTER_ASSIGN(const CrowdRun few, run_crowd(crowd, false));
      add_memory(busy, (many.most_kilobytes - few.most_kilobytes) / (connections - crowd.processes));
    }
    if (wanted(round)) {
      const double train_s = many.told["time"].value("train_s", 0.0);
      cases_.push_back({.name = round,
                        .value = train_s / crowd.rounds,
                        .unit = "s",
                        .ratio = train_s / many.told.value("simulated_s", 0.0),
                        .reference = "the simulation",
                        .checked = checked});
    }
    return {};
  }

  // A process that is stopped answers nothing, and nothing tells the cloud that it does not: as a cable that is cut.
  static Status measure_cut(WatchedCloud& cloud, std::uint32_t connections, double& seconds) {
    constexpr const char* kGone = "is gone with";
    const double begun = wall_seconds();
    cloud.signal(0, SIGSTOP);
    const bool seen = wait_until([&] { return cloud.times_said(kGone) >= connections; }, 10 * kMostCutS);
    seconds = wall_seconds() - begun;
    cloud.signal(0, SIGCONT);
    if (!seen) return failure("the cloud does not see that a process stands still");
    return {};
  }

  const NetworkBenchOptions& options_;
  const TemporaryFolder& folder_;
  const ThrowAwayPki& pki_;
  std::vector<NetworkCase> cases_;
  std::uint32_t crowds_ = 0;
};

}  // namespace

Result<std::vector<NetworkCase>> run_network_bench(const NetworkBenchOptions& options) {
  MUSTER_ASSIGN(const TemporaryFolder folder, TemporaryFolder::create());
  MUSTER_ASSIGN(const ThrowAwayPki pki, ThrowAwayPki::create(folder / "pki"));
  return NetworkBench(options, folder, pki).run();
}

}  // namespace muster
