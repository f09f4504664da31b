// `muster cloud`: the round loop of a deployment.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "app/interruption.h"
#include "app/kept_store.h"
#include "app/left_report.h"
#include "app/network_arguments.h"
#include "app/network_commands.h"
#include "app/network_summaries.h"
#include "app/page_arguments.h"
#include "app/page_roster.h"
#include "app/run_text.h"
#include "deploy/cloud_run.h"
#include "net/address.h"

namespace muster {
namespace {

struct CloudArguments {
  std::string recipe;
  std::string task;
  std::vector<std::string> settings;
  std::optional<std::uint64_t> seed;
  std::optional<std::uint32_t> rounds;
  std::uint32_t threads = 0;
  std::string listen;
  std::string out = "runs";
  std::string resume;
  std::string ledger_vectors;
  bool json = false;
  NetworkArguments network;
  PageArguments page;
};

constexpr std::size_t kMostDrops = 100;  // that a line names; the records have all

// What progress is for people, for logs: a line a round.
class RoundLog final : public RoundObserver {
 public:
  void end(const Models&, RoundRecord& record) override {
    nlohmann::ordered_json fields{
        {"round", record.round}, {"participants", record.participants}, {"dropped", record.dropped.size()}};
    for (std::size_t i = 0; i < std::min(record.dropped.size(), kMostDrops); ++i) {
      const Dropped& one = record.dropped[i];
      fields["drops"].push_back({{"client", one.client.value}, {"reason", name(one.reason)}});
    }
    log_line(LogLevel::kInfo,
             fmt::format("round {} is trained: {} clients in {} groups, {} dropped", record.round, record.participants,
                         record.groups, record.dropped.size()),
             fields);
  }
};

// A run that is over waits for nobody: what it left is told once more.
Status print_finished(const RunCurve& run, const CloudArguments& arguments) {
  if (const auto say = arguments.network.say())
    say(fmt::format("{} is over, and nothing is left to do; --rounds or --set may extend it", run.run));
  if (arguments.json) {
    MUSTER_ASSIGN(const std::vector<std::uint8_t> text, read_file(run.dir / "summary.json", std::uint64_t{64} << 20));
    std::fwrite(text.data(), 1, text.size(), stdout);
  } else {
    fmt::print("{}: over after round {} ({})\n", run.run, run.rounds, run.stopped);
    if (run.accuracy_last && run.accuracy_best) {
      fmt::print("  accuracy   last {:.2f} %  best {:.2f} %\n", 100 * *run.accuracy_last, 100 * *run.accuracy_best);
    }
    fmt::print("  signature  {}\n  folder     {}\n", run.signature, run.dir.string());
  }
  return std::fflush(stdout) == 0 ? Status() : failure("cannot write the result to stdout");
}

Result<RunSummary> run(const CloudArguments& arguments) {
  CloudRunOptions options;
  options.simulation.interrupt = &arguments.network.begin("cloud");
  std::vector<std::string> settings = arguments.settings;
  if (arguments.seed) settings.push_back(fmt::format("seed={}", *arguments.seed));
  if (arguments.rounds) settings.push_back(fmt::format("rounds={}", *arguments.rounds));
  if (arguments.resume.empty()) {
    MUSTER_ASSIGN(options.recipe, load_recipe(arguments.recipe, arguments.task));
    for (const std::string& setting : settings) MUSTER_TRY(apply_setting(options.recipe, setting));
  } else {
    options.resume = arguments.resume;
    options.settings = settings;
  }
  MUSTER_TRY(check_address("--listen", arguments.listen, true));
  options.listen = arguments.listen;
  MUSTER_ASSIGN(options.security, load_security(arguments.network.pki, arguments.network.insecure, Role::kCloud,
                                                {arguments.listen}, arguments.network.note()));
  log_name(options.security.identity.name);
  options.listening = [tell = arguments.network.listening(arguments.listen)](int port, std::uint32_t) -> Status {
    tell(port);
    return {};
  };
  options.simulation.threads = arguments.threads;
  options.simulation.out = arguments.out;
  options.simulation.quiet = arguments.network.quiet || arguments.network.json_log;
  RoundLog log;
  if (arguments.network.json_log && !arguments.network.quiet) options.simulation.observers.push_back(&log);
  options.status = arguments.network.status();
  options.ledger_vectors = arguments.ledger_vectors;
  options.simulation.say = arguments.network.say();
  options.note = arguments.network.note();
  std::unique_ptr<StoreKeeper> store = keep_store(arguments.out, arguments.resume, arguments.network.quiet);
  RosterBoard board;
  options.roster = &board;
  const std::filesystem::path runs = folder_of_runs(arguments.out, arguments.resume);
  MUSTER_ASSIGN(std::unique_ptr<LivePage> page, arguments.page.start(runs, roster_of(board)));
  MUSTER_ASSIGN(RunSummary summary, run_cloud(std::move(options)));
  page.reset();
  store->finish();
  leave_report(summary.dir, arguments.network.quiet);
  if (arguments.json) {
    fmt::print("{}\n", to_json(summary));
  } else {
    print_summary(summary);
  }
  if (std::fflush(stdout) != 0) return failure("cannot write the result to stdout");
  if (!arguments.network.quiet) print_advice(summary, arguments.json, "muster cloud --resume");
  arguments.page.say_afterwards(runs, arguments.network.quiet);
  return summary;
}

}  // namespace

void add_cloud_command(Command program) {
  auto arguments = std::make_shared<CloudArguments>();
  Command command = program.add_command(kCloudSummary.name, kCloudSummary.text);
  command.add_option("recipe", arguments->recipe, "A built-in recipe or a .toml file");
  command.add_option("--task", arguments->task, "What it runs on, instead of the recipe's own task");
  command.add_option("--set", arguments->settings, "section.key=value: any key of the recipe, repeatable")
      .one_at_a_time();
  command.add_option("--seed", arguments->seed, "Seed of everything random; default: the recipe's");
  command.add_option("--rounds", arguments->rounds, "Rounds of training; default: the recipe's");
  command.add_option("--threads", arguments->threads, "Threads that score the server's own samples; default: all cores")
      .between(1, 1024);
  command.add_option("--listen", arguments->listen, "Address that edges and clients dial: host:port; port 0 is any")
      .required();
  command.add_option("--out", arguments->out, "Folder to put the run's folder in").show_default();
  command.add_option("--resume", arguments->resume, "Continue this run (its folder, or its id under --out)");
  command.add_option("--ledger-vectors", arguments->ledger_vectors,
                     "Folder to keep every update and merged model in, to check the run's ledger with; default: none");
  arguments->network.add_to(command, true);
  command.add_flag("--json", arguments->json, "The result as one JSON object");
  arguments->page.add_to(command);
  command.set_footer(
      "Examples:\n"
      "  muster cloud fedavg --listen 0.0.0.0:7400 --pki pki/cloud-main\n"
      "  muster cloud --resume runs/fedavg-s1-20260101-120000 --listen 0.0.0.0:7400 --pki pki/cloud-main");
  command.set_action([arguments, command]() mutable -> Status {
    if (arguments->recipe.empty() == arguments->resume.empty()) {
      return usage_error("cloud: want a recipe, or --resume RUN, and not both");
    }
    if (!arguments->resume.empty() && arguments->settings.empty() && !arguments->seed && !arguments->rounds) {
      if (arguments->network.json_log) log_as_json("cloud");
      MUSTER_ASSIGN(const std::optional<RunCurve> over, finished_run(arguments->out, arguments->resume));
      if (over) return print_finished(*over, *arguments);
    }
    MUSTER_ASSIGN(const RunSummary summary, run(*arguments));
    if (summary.stopped == StopReason::kInterrupted) command.set_exit_status(interrupted_status());
    return {};
  });
}

}  // namespace muster
