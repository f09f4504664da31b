// `muster federate`: a deployment on this machine, and whether it gives what its simulation gives.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>
#include <thread>

#include "app/background_process.h"
#include "app/deployment_commands.h"
#include "app/interruption.h"
#include "app/kept_store.h"
#include "app/left_report.h"
#include "app/log_lines.h"
#include "app/network_arguments.h"
#include "app/network_commands.h"
#include "app/network_summaries.h"
#include "app/page_arguments.h"
#include "app/page_roster.h"
#include "app/print_field.h"
#include "app/run_text.h"
#include "app/temporary_folder.h"
#include "app/throw_away_pki.h"
#include "base/names.h"
#include "deploy/cloud_run.h"
#include "engine/noise_record.h"
#include "engine/simulated_federation.h"
#include "recipe/choices.h"
#include "record/json_text.h"

namespace muster {
namespace {

constexpr double kStartS = 30;  // that a process may take until it can be dialled
constexpr double kEndS = 20;    // and to end when the run is over

struct FederateArguments {
  std::string recipe;
  std::string task;
  std::vector<std::string> settings;
  std::optional<std::uint64_t> seed;
  std::optional<std::uint32_t> rounds;
  std::uint32_t edges = 0;
  std::uint32_t clients = 4;
  std::uint32_t connections = 1;
  std::string out = "runs";
  std::string keep;
  bool insecure = false;
  bool quiet = false;
  PageArguments page;
  bool json = false;
};

// The clients of process `number` of `processes`: neighbours stay together.
ClientRange share_of(std::uint32_t clients, std::uint32_t processes, std::uint32_t number) {
  const auto begin = [&](std::uint64_t n) { return static_cast<std::uint32_t>(n * clients / processes); };
  return {begin(number), begin(number + std::uint64_t{1}) - 1};
}

// Certificates, processes and logs of one deployment. The cloud is this process.
class Deployment {
 public:
  Deployment(const FederateArguments& arguments, std::filesystem::path folder, std::string program)
      : arguments_(arguments), folder_(std::move(folder)), program_(std::move(program)) {}

  Result<Security> cloud_security() {
    if (arguments_.insecure) return load_security({}, true, Role::kCloud, {"127.0.0.1:0"});
    MUSTER_ASSIGN(pki_, ThrowAwayPki::create(folder_ / "pki"));
    MUSTER_ASSIGN(const std::filesystem::path own, pki_->issue({.role = Role::kCloud, .name = kCloudName}));
    return load_security(own, false, Role::kCloud, {});
  }

  // The cloud can be dialled: starts everybody else.
  Status start(const Recipe& recipe, int port, std::uint32_t clients) {
    const std::string cloud = fmt::format("127.0.0.1:{}", port);
    const PlannedDeployment planned = plan(clients);
    if (!arguments_.keep.empty()) MUSTER_TRY(write_commands(recipe, planned));
    std::vector<std::string> edges;
    for (std::uint32_t e = 0; e < planned.edges; ++e) {
      const std::string name = "edge-" + edge_name(e);
      const std::filesystem::path announced = folder_ / (name + ".address");
      std::vector<std::string> words{"edge",       "--cloud",         cloud, "--listen", "127.0.0.1:0",
                                     "--announce", announced.string()};
      MUSTER_TRY(secure({.role = Role::kEdge, .name = edge_name(e)}, words));
      MUSTER_TRY(launch(name, std::move(words)));
      MUSTER_ASSIGN(std::string address, wait_for_address(name, announced));
      edges.push_back(std::move(address));
    }
    for (std::uint32_t p = 0; p < planned.clients.size(); ++p) {
      const std::string name = "client-" + client_process_name(p);
      const ClientRange range = planned.clients[p];
      // An edge, and the cloud if that is gone.
      const std::string to = edges.empty() ? cloud : edges[edge_of(p, planned.edges)] + ',' + cloud;
      const std::filesystem::path state = folder_ / "states" / name;
      if (clients_add_noise(recipe)) MUSTER_TRY(share_noise_key(state));
      std::vector<std::string> words{"client",
                                     "--to",
                                     to,
                                     "--clients",
                                     fmt::format("{}-{}", range.first, range.last),
                                     "--connections",
                                     std::to_string(planned.connections),
                                     "--state",
                                     state.string()};
      MUSTER_TRY(secure({.role = Role::kClient, .name = client_process_name(p), .clients = {range}}, words));
      MUSTER_TRY(launch(name, std::move(words)));
    }
    return {};
  }

  // Waits for all to end by themselves; which did not, or not well.
  std::vector<std::string> end() {
    std::vector<std::string> wrong;
    for (auto& [name, process] : processes_) {
      const std::optional<int> status = process.wait(kEndS);
      if (!status) wrong.push_back(fmt::format("{} did not end", name));
      if (status && *status != 0) wrong.push_back(fmt::format("{} ended with status {}", name, *status));
    }
    processes_.clear();
    return wrong;
  }

  // What all clients make their noise from where they add it themselves; else each would draw a key of its own, and no
  // simulation could repeat the run.
  [[nodiscard]] std::filesystem::path noise_key() const { return folder_ / kNoiseKeyFile; }

  [[nodiscard]] std::size_t processes() const { return processes_.size() + 1; }

 private:
  [[nodiscard]] PlannedDeployment plan(std::uint32_t clients) const {
    const std::uint32_t processes = std::min(arguments_.clients, clients);
    PlannedDeployment planned{.program = program_,
                              .edges = arguments_.edges,
                              .connections = std::min(arguments_.connections, clients / processes)};
    for (std::uint32_t p = 0; p < processes; ++p) planned.clients.push_back(share_of(clients, processes, p));
    return planned;
  }

  // How to do the same on several machines.
  Status write_commands(const Recipe& recipe, const PlannedDeployment& planned) const {
    const std::filesystem::path machines = folder_ / "machines";
    MUSTER_TRY(make_folder(machines));
    MUSTER_TRY(write_file(machines / "recipe.toml", format_recipe(recipe)));
    return write_file(machines / "commands.sh", deployment_commands(planned));
  }

  Status secure(const IssueRequest& request, std::vector<std::string>& words) {
    if (arguments_.insecure) {
      words.emplace_back("--insecure");
      return {};
    }
    MUSTER_ASSIGN(const std::filesystem::path own, pki_->issue(request));
    words.insert(words.end(), {"--pki", own.string()});
    return {};
  }

  [[nodiscard]] Status share_noise_key(const std::filesystem::path& state) const {
    MUSTER_TRY(make_folder(state));
    MUSTER_TRY(keep_noise_key(folder_, {}, true));
    MUSTER_TRY(keep_noise_key(state, noise_key(), false));
    return {};
  }

  Status launch(const std::string& name, std::vector<std::string> words) {
    words.insert(words.begin(), program_);
    MUSTER_ASSIGN(BackgroundProcess process, BackgroundProcess::start(std::move(words), folder_ / (name + ".log")));
    processes_.emplace_back(name, std::move(process));
    return {};
  }

  Result<std::string> wait_for_address(const std::string& name, const std::filesystem::path& file) {
    for (double waited_s = 0; waited_s < kStartS; waited_s += 0.02) {
      if (const auto bytes = read_file(file, 256); bytes && !bytes->empty()) {
        return std::string(bytes->begin(), bytes->end() - 1);
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return failure("{}: did not listen within {} s; see {}", name, kStartS, (folder_ / (name + ".log")).string());
  }

  const FederateArguments& arguments_;
  std::filesystem::path folder_;
  std::string program_;
  std::optional<ThrowAwayPki> pki_;  // unless it is all in plain text
  std::vector<std::pair<std::string, BackgroundProcess>> processes_;
};

void print_result(const FederateArguments& arguments, const RunSummary& deployed, const RunSummary& simulated,
                  std::size_t processes) {
  const bool equal = simulated.signature == deployed.signature;
  if (arguments.json) {
    auto told = nlohmann::ordered_json::parse(to_json(deployed));
    told["simulation_signature"] = simulated.signature;
    told["equal"] = equal;
    told["edges"] = arguments.edges;
    told["processes"] = processes;
    told["simulation_wall_s"] = simulated.wall_s;
    told["simulation_time"] = nlohmann::ordered_json::parse(to_json(simulated))["time"];
    return fmt::print("{}\n", json_text(told));
  }
  print_summary(deployed);
  print_field("deployed", fmt::format("{} processes: the cloud, {}, {} for clients", processes,
                                      counted(arguments.edges, "edge"), processes - 1 - arguments.edges));
  print_field("simulation", fmt::format("{} in {:.2f} s: {}", simulated.signature, simulated.wall_s,
                                        equal ? "the same" : "NOT the same"));
}

Result<RunSummary> run(const FederateArguments& arguments) {
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) return failure("cannot find this program: {}", error.message());
  MUSTER_ASSIGN(Recipe recipe, load_recipe(arguments.recipe, arguments.task));
  std::vector<std::string> settings = arguments.settings;
  if (arguments.seed) settings.push_back(fmt::format("seed={}", *arguments.seed));
  if (arguments.rounds) settings.push_back(fmt::format("rounds={}", *arguments.rounds));
  for (const std::string& setting : settings) MUSTER_TRY(apply_setting(recipe, setting));

  MUSTER_TRY(check_can_simulate(recipe));

  MUSTER_ASSIGN(const TemporaryFolder temporary, TemporaryFolder::create());
  const std::filesystem::path folder =
      arguments.keep.empty() ? temporary.path() : std::filesystem::absolute(arguments.keep);
  MUSTER_TRY(make_folder(folder));
  Deployment deployment(arguments, folder, program.string());
  CloudRunOptions options;
  options.recipe = recipe;
  options.listen = "127.0.0.1:0";
  MUSTER_ASSIGN(options.security, deployment.cloud_security());
  options.simulation.out = arguments.out;
  options.simulation.quiet = arguments.quiet;
  options.simulation.interrupt = &catch_interruptions();
  if (!arguments.quiet) {
    options.simulation.say = [](const std::string& line) { log_line(LogLevel::kInfo, line); };
    options.note = [](const WireNote& note) { log_line(LogLevel::kInfo, note.line); };
  }
  options.listening = [&](int port, std::uint32_t clients) { return deployment.start(recipe, port, clients); };
  std::unique_ptr<StoreKeeper> store = keep_store(arguments.out, "", arguments.quiet);
  RosterBoard board;
  options.roster = &board;
  MUSTER_ASSIGN(std::unique_ptr<LivePage> page, arguments.page.start(arguments.out, roster_of(board)));
  MUSTER_ASSIGN(RunSummary summary, run_cloud(std::move(options)));
  page.reset();
  store->finish();
  leave_report(summary.dir, arguments.quiet);
  const std::size_t processes = deployment.processes();
  for (const std::string& wrong : deployment.end()) log_line(LogLevel::kWarning, wrong);
  if (!arguments.keep.empty() && !arguments.quiet) {
    log_line(LogLevel::kInfo, fmt::format("certificates, logs and states are in {0}; sh {0}/machines/commands.sh does "
                                          "the same on several machines, and its first lines say how",
                                          arguments.keep));
  }
  arguments.page.say_afterwards(arguments.out, arguments.quiet);
  if (summary.stopped == StopReason::kInterrupted) return summary;

  SimulationOptions simulation;
  simulation.out = temporary.path();
  simulation.quiet = true;
  if (clients_add_noise(recipe)) {
    simulation.noise_key = deployment.noise_key();
  } else if (recipe.dp.on()) {
    simulation.noise_key = summary.dir / kNoiseKeyFile;
  }
  simulation.interrupt = &catch_interruptions();
  MUSTER_ASSIGN(const RunSummary simulated, simulate(recipe, simulation));
  print_result(arguments, summary, simulated, processes);
  if (std::fflush(stdout) != 0) return failure("cannot write the result to stdout");
  if (simulated.signature != summary.signature) {
    return failure("the deployed run has signature {}, its simulation {}", summary.signature, simulated.signature);
  }
  return summary;
}

}  // namespace

void add_federate_command(Command program) {
  auto arguments = std::make_shared<FederateArguments>();
  Command command = program.add_command(kFederateSummary.name, kFederateSummary.text);
  command.add_option("recipe", arguments->recipe, "A built-in recipe or a .toml file").required();
  command.add_option("--task", arguments->task, "What it runs on, instead of the recipe's own task");
  command.add_option("--set", arguments->settings, "section.key=value: any key of the recipe, repeatable")
      .one_at_a_time();
  command.add_option("--seed", arguments->seed, "Seed of everything random; default: the recipe's");
  command.add_option("--rounds", arguments->rounds, "Rounds of training; default: the recipe's");
  command.add_option("--edges", arguments->edges, "Edges; 0: clients dial the cloud").between(0, 100).show_default();
  command
      .add_option("--clients", arguments->clients, "Processes for clients, which share the recipe's clients among them")
      .between(1, 1000)
      .show_default();
  command
      .add_option("--connections", arguments->connections,
                  "Connections of each client process, which share its clients among them")
      .between(1, 1000)
      .show_default();
  command.add_option("--out", arguments->out, "Folder to put the run's folder in").show_default();
  command.add_option("--keep", arguments->keep,
                     "Folder to keep certificates, logs and states in, instead of a throw-away one, and the commands "
                     "to do the same on several machines (machines/commands.sh)");
  command.add_flag("--insecure", arguments->insecure, "Plain text instead of TLS");
  command.add_flag("--quiet", arguments->quiet, "No progress on stderr");
  command.add_flag("--json", arguments->json, "The result as one JSON object");
  arguments->page.add_to(command);
  command.set_footer("Example:\n  muster federate fedgsp --edges 2 --clients 20 --rounds 5");
  command.set_action([arguments, command]() mutable -> Status {
    MUSTER_ASSIGN(const RunSummary summary, run(*arguments));
    if (summary.stopped == StopReason::kInterrupted) command.set_exit_status(interrupted_status());
    return {};
  });
}

}  // namespace muster
