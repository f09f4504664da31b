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
#include "app/left_report.h"
#include "app/log_lines.h"
#include "app/page_arguments.h"
#include "app/print_field.h"
#include "app/run_text.h"
#include "base/names.h"
#include "data/shown_text.h"
#include "engine/forecast.h"
#include "engine/simulation.h"
#include "record/json_text.h"
#include "record/watch_screen.h"

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
  std::string noise_key;
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
  fmt::print("{}, dry run: nothing is trained, nothing is written\n", f.recipe);
  print_field("method", f.description);
  print_field("data", f.data);
  print_field("model",
              fmt::format("{}, {} parameters; {}", f.model, f.parameters,
                          f.models == 0 ? "as many models as there will be groups" : counted(f.models, "model")));
  std::string layer;
  for (std::istringstream layers(f.layers); std::getline(layers, layer);) print_field("", layer);
  const bool grouped = f.groups && f.sizes.largest > 1;
  if (grouped) {
    print_field("groups", fmt::format("{} by {} of {}, {} idle, CoV {:.2f}", *f.groups, f.method,
                                      sizes_text(f.sizes.smallest, f.sizes.mean, f.sizes.largest), f.idle, f.cov_mean));
  } else if (f.groups) {
    print_field("groups", "none: every client by itself");
  } else {
    print_field("groups", fmt::format("by {}, not known yet: clients must train first, for their profiles", f.method));
  }
  if (f.clients_per_round) {
    print_field("per round",
                fmt::format("{} of {} clients{}, {} samples, {} up and {} down", *f.clients_per_round, f.clients,
                            grouped ? " in " + counted(*f.groups_per_round, "group") : std::string(),
                            f.samples_per_round, megabytes(f.bytes_up), megabytes(f.bytes_down)));
  }
  print_field("memory", "about " + megabytes(f.memory_bytes));
  if (f.profile_s > 0) {
    print_field("profiles", fmt::format("about {} on {} threads, once", seconds(f.profile_s), f.threads));
  }
  print_field("time", f.clients_per_round ? fmt::format("about {} a round, {} for all {} rounds on {} threads",
                                                        seconds(f.round_s), seconds(f.total_s), f.rounds, f.threads)
                                          : std::string("of rounds: not known before there are groups"));
  for (const std::string& note : f.notes) print_field("note", note);
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
  print_field("ranks", fmt::format("{}: {:.1f} MB between rank 0 and the others, {:.1f} % of its time in ordered sums",
                                   times.calls.others.size() + 1, static_cast<double>(times.calls.bytes) / 1e6,
                                   times.calls.calls_s > 0 ? 100 * times.calls.accept_s / times.calls.calls_s : 0.0));
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

Result<RunSummary> run(const RunArguments& arguments) {
  SimulationOptions options;
  RunTimes times;
  if (arguments.ranks) options.times = &times;
  options.threads = arguments.threads;
  options.out = arguments.out;
  options.quiet = arguments.quiet;
  options.interrupt = &catch_interruptions();
  options.ranks = arguments.ranks;
  options.noise_key = arguments.noise_key;
  if (!arguments.noise_key.empty() && !arguments.resume.empty()) {
    return usage_error("--noise-key: does not go with --resume: a run goes on with the key in its folder");
  }
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
  store->finish();
  leave_report(summary.dir, arguments.quiet);
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
  command.add_option("--noise-key", arguments->noise_key,
                     "Repeat a private run whose noise came from this key: the file noise.key of its folder, or of its clients'");
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
