// `muster run`: simulate one federation.
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>

#include "app/commands.h"
#include "app/interruption.h"
#include "app/kept_store.h"
#include "app/log_lines.h"
#include "app/page_arguments.h"
#include "app/run_text.h"
#include "base/file.h"
#include "base/names.h"
#include "data/shown_text.h"
#include "engine/forecast.h"
#include "engine/simulation.h"
#include "record/json_text.h"
#include "record/watch_screen.h"
#include "report/describe.h"
#include "report/html_page.h"

namespace muster {
namespace {

struct RunArguments {
  std::string recipe = "demo";
  std::string task;
  std::vector<std::string> settings;
  std::optional<std::uint64_t> seed;
  std::optional<std::uint32_t> rounds;
  std::uint32_t threads = 0;
  std::string out = "runs";
  std::string resume;
  bool quiet = false;
  PageArguments page;
  bool json = false;
  bool dry_run = false;
  bool watch = false;
  Ranks* ranks = nullptr;
};

std::string seconds(double value) {
  if (value < 0.1) return fmt::format("{:.2g} ms", 1000 * value);
  if (value < 100) return fmt::format("{:.2g} s", value);
  return value < 6000 ? fmt::format("{:.0f} min", value / 60) : fmt::format("{:.1f} h", value / 3600);
}

std::string megabytes(std::uint64_t bytes) {
  return fmt::format("{:.1f} MB", static_cast<double>(bytes) / 1e6);
}

void print_forecast(const Forecast& f) {
  std::string line;
  fmt::print("{}, dry run: nothing is trained, nothing is written\n", f.recipe);
  fmt::print("  method     {}\n", f.description);
  fmt::print("  data       {}\n", f.data);
  fmt::print("  model      {}, {} parameters; {}\n", f.model, f.parameters,
             f.models == 0 ? "as many models as there will be groups" : counted(f.models, "model"));
  for (std::istringstream lines(f.layers); std::getline(lines, line);) fmt::print("             {}\n", line);
  const bool grouped = f.groups && f.sizes.largest > 1;
  if (grouped) {
    fmt::print("  groups     {} by {} of {}, {} idle, CoV {:.2f}\n", *f.groups, f.method,
               sizes_text(f.sizes.smallest, f.sizes.mean, f.sizes.largest), f.idle, f.cov_mean);
  } else if (f.groups) {
    fmt::print("  groups     none: every client by itself\n");
  } else {
    fmt::print("  groups     by {}, not known yet: clients must train first, for their profiles\n", f.method);
  }
  if (f.clients_per_round) {
    fmt::print("  per round  {} of {} clients", *f.clients_per_round, f.clients);
    if (grouped) fmt::print(" in {}", counted(*f.groups_per_round, "group"));
    fmt::print(", {} samples, {} up and {} down\n", f.samples_per_round, megabytes(f.bytes_up),
               megabytes(f.bytes_down));
  }
  fmt::print("  memory     about {}\n", megabytes(f.memory_bytes));
  if (f.profile_s > 0) fmt::print("  profiles   about {} on {} threads, once\n", seconds(f.profile_s), f.threads);
  if (f.clients_per_round) {
    fmt::print("  time       about {} a round, {} for all {} rounds on {} threads\n", seconds(f.round_s),
               seconds(f.total_s), f.rounds, f.threads);
  } else {
    fmt::print("  time       of rounds: not known before there are groups\n");
  }
  for (const std::string& note : f.notes) fmt::print("  note       {}\n", note);
}

// The recipe that the line names, with its settings.
Result<Recipe> chosen_recipe(const RunArguments& arguments, const std::vector<std::string>& settings) {
  MUSTER_ASSIGN(Recipe recipe, load_recipe(arguments.recipe, arguments.task));
  for (const std::string& setting : settings) MUSTER_TRY(apply_setting(recipe, setting));
  return recipe;
}

// --seed and --rounds are settings too.
std::vector<std::string> settings_of(const RunArguments& arguments) {
  std::vector<std::string> settings = arguments.settings;
  if (arguments.seed) settings.push_back(fmt::format("seed={}", *arguments.seed));
  if (arguments.rounds) settings.push_back(fmt::format("rounds={}", *arguments.rounds));
  return settings;
}

Status dry_run(const RunArguments& arguments) {
  if (!arguments.resume.empty()) return usage_error("--dry-run: does not go with --resume; leave out one of them");
  MUSTER_ASSIGN(const Recipe recipe, chosen_recipe(arguments, settings_of(arguments)));
  MUSTER_ASSIGN(const Forecast found, forecast(recipe, arguments.threads));
  if (arguments.json) {
    fmt::print("{}\n", to_json(found));
  } else {
    print_forecast(found);
  }
  if (std::fflush(stdout) != 0) return failure("cannot write the result to stdout");
  return {};
}

// What all of it cost besides, where there are several ranks; not of the run, whose summary does not know how many.
nlohmann::ordered_json ranks_json(const RankTimes& cost) {
  nlohmann::ordered_json json{{"count", cost.others.size() + 1},
                              {"bytes", cost.bytes},
                              {"ordered_share", cost.calls_s > 0 ? cost.accept_s / cost.calls_s : 0.0},
                              {"others", nlohmann::ordered_json::array()}};
  for (const RankMemory& memory : cost.others) {
    json["others"].push_back({{"own_bytes", memory.own_bytes}, {"arena_bytes", memory.arena_bytes}});
  }
  return json;
}

void print_result(const RunSummary& summary, const RunTimes& times, bool json) {
  const bool several = !times.calls.others.empty();
  if (json && !several) return fmt::print("{}\n", to_json(summary));
  if (json) {
    auto told = nlohmann::ordered_json::parse(to_json(summary));
    told["ranks"] = ranks_json(times.calls);
    return fmt::print("{}\n", json_text(told));
  }
  print_summary(summary);
  if (!several) return;
  fmt::print("  ranks      {}: {:.1f} MB between rank 0 and the others, {:.1f} % of its time in ordered sums\n",
             times.calls.others.size() + 1, static_cast<double>(times.calls.bytes) / 1e6,
             times.calls.calls_s > 0 ? 100 * times.calls.accept_s / times.calls.calls_s : 0.0);
}

// A live plot instead of a bar alone, on a terminal that can draw it.
std::unique_ptr<WatchScreen> watch(SimulationOptions& options) {
  ProgressSink terminal = stderr_progress();
  const char* const kind = std::getenv("TERM");
  if (kind && std::string_view(kind) == "dumb") terminal.terminal = false;
  auto screen =
      std::make_unique<WatchScreen>(std::move(terminal), stderr_rows,
                                    watch_style([](const char* name) { return std::getenv(name); }), options.interrupt);
  options.on_record = [&to = *screen](const RoundRecord& record) { to.record(record); };
  options.say = [&to = *screen](const std::string& text) { to.note("muster: " + text); };
  return screen;
}

// For whoever looks at the folder later. A report that cannot be written costs nobody the run, and of records that are
// large it would cost memory and time: `muster report` makes that one.
void leave_report(const RunSummary& summary, bool quiet) {
  constexpr std::uintmax_t kMostRecords = std::uintmax_t{4} << 20;
  std::uintmax_t bytes = 0;
  for (const char* const file : {"rounds.jsonl", "groups.jsonl", "clients.csv"}) {
    std::error_code error;
    const std::uintmax_t size = std::filesystem::file_size(summary.dir / file, error);
    if (!error) bytes += size;
  }
  if (bytes > kMostRecords) return;
  const auto description = describe_run(summary.dir);
  const Status written =
      description ? write_file(summary.dir / "report.html", to_html(*description)) : Status(description.error());
  if (!written && !quiet) log_line(LogLevel::kWarning, "no report.html: " + written.error().message);
}

Result<RunSummary> run(const RunArguments& arguments) {
  SimulationOptions options;
  RunTimes times;
  if (arguments.ranks) options.times = &times;
  options.threads = arguments.threads;
  options.out = arguments.out;
  options.quiet = arguments.quiet;
  options.interrupt = &catch_interruptions();
  options.ranks = arguments.ranks;
  if (!arguments.quiet) {
    options.say = [](const std::string& text) { std::fprintf(stderr, "muster: %s\n", text.c_str()); };
  }

  std::unique_ptr<WatchScreen> screen;
  ProgressSink below;
  if (arguments.watch && !arguments.quiet) {
    screen = watch(options);
    below = screen->sink();
    options.progress = &below;
  }

  const std::vector<std::string> settings = settings_of(arguments);
  std::unique_ptr<StoreKeeper> store = keep_store(arguments.out, arguments.resume, arguments.quiet);
  const std::filesystem::path runs = folder_of_runs(arguments.out, arguments.resume);
  MUSTER_ASSIGN(std::unique_ptr<LivePage> page, arguments.page.start(runs));
  RunSummary summary;
  if (!arguments.resume.empty()) {
    MUSTER_ASSIGN(summary, resume(arguments.resume, settings, options));
  } else {
    MUSTER_ASSIGN(const Recipe recipe, chosen_recipe(arguments, settings));
    MUSTER_ASSIGN(summary, simulate(recipe, options));
  }
  page.reset();
  store.reset();
  leave_report(summary, arguments.quiet);
  print_result(summary, times, arguments.json);
  if (std::fflush(stdout) != 0) return failure("cannot write the result to stdout");
  if (!arguments.quiet) print_advice(summary, arguments.json, "muster run --resume");
  arguments.page.say_afterwards(runs, arguments.quiet);
  return summary;
}

}  // namespace

void add_run_command(Command program, Ranks* ranks) {
  auto arguments = std::make_shared<RunArguments>();
  arguments->ranks = ranks;
  Command command = program.add_command("run", "Simulate one federation: train, evaluate, record");
  const Option recipe = command.add_option(
      "recipe", arguments->recipe, "A built-in recipe (see `muster list recipes`) or a .toml file; default: demo");
  command.add_option("--task", arguments->task,
                     "What it runs on: a built-in task (see `muster list tasks`) or a .toml file; "
                     "default: the recipe's");
  command.add_option("--set", arguments->settings, "section.key=value: any key of the recipe, repeatable")
      .one_at_a_time();
  command.add_option("--seed", arguments->seed, "Seed of everything random; default: the recipe's");
  command.add_option("--rounds", arguments->rounds, "Rounds of training; default: the recipe's");
  command
      .add_option(
          "--threads", arguments->threads,
          "Worker threads, of each rank where there are several; default: all cores. The result does not depend "
          "on it")
      .between(1, 1024);
  command.add_option("--out", arguments->out, "Folder to put the run's folder in").show_default();
  command.add_option("--resume", arguments->resume, "Continue this run (its folder, or its id under --out)");
  command.add_flag("--dry-run", arguments->dry_run, "Print what would run, and about how long, without training");
  command.add_flag("--watch", arguments->watch,
                   "Draw accuracy and groups as the run goes on, on stderr; plain lines where that is no terminal");
  command.add_flag("--quiet", arguments->quiet, "No progress on stderr");
  command.add_flag("--json", arguments->json, "The result as one JSON object");
  arguments->page.add_to(command);
  command.set_footer(
      "Examples:\n"
      "  muster run\n"
      "  muster run fedavg --ui\n"
      "  muster run fedavg --rounds 20 --set local.epochs=2 --json\n"
      "  muster run scaffold --set data.alpha=0.3 --set faults.drop=0.1\n"
      "  muster run fedgsp --task cifar-dirichlet\n"
      "  muster run fedgsp --watch\n"
      "  muster run fedgsp --dry-run\n"
      "  muster run my.toml --set target-accuracy=0.9 --threads 1\n"
      "  muster run --resume runs/fedavg-s1-20260101-120000 --rounds 200");
  command.set_action([arguments, recipe, command]() mutable -> Status {
    if (!arguments->resume.empty() && (recipe.given() || !arguments->task.empty())) {
      return usage_error("--resume {}: a resumed run keeps its recipe; leave out '{}'", arguments->resume,
                         recipe.given() ? arguments->recipe : "--task " + arguments->task);
    }
    if (arguments->dry_run) return dry_run(*arguments);
    MUSTER_ASSIGN(const RunSummary summary, run(*arguments));
    if (summary.stopped == StopReason::kInterrupted) command.set_exit_status(interrupted_status());
    return {};
  });
}

}  // namespace muster
