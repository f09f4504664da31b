// `muster runs`: the store of runs: lists, filters and sorts them, and makes the store anew from their folders.
#include <fmt/format.h>

#include <cstdio>
#include <ctime>
#include <memory>

#include "app/commands.h"
#include "app/runs_commands.h"
#include "base/names.h"
#include "data/shown_text.h"
#include "data/wrapped_text.h"
#include "recipe/recipe.h"
#include "recipe/recipe_text.h"
#include "record/json_text.h"
#include "store/run_json.h"

namespace muster {
namespace {

struct RunsArguments {
  std::string out = "runs";
  std::string recipe;
  std::string tag;
  std::string since;
  std::string stopped;
  std::vector<std::string> where;
  std::string sort = "date";
  bool reverse = false;
  std::uint32_t limit = 0;
  bool json = false;
};

const std::vector<std::string> kStopped{"rounds",   "target",      "budget",  "patience",
                                        "diverged", "interrupted", "running", "unfinished"};

// A date, a date and time (both UTC), or a time ago: 90m, 36h, 7d.
Result<std::int64_t> parse_since(const std::string& text) {
  std::tm date{};
  for (const char* format :
       {"%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M", "%Y-%m-%d %H:%M", "%Y-%m-%d"}) {
    date = {};
    const char* const end = ::strptime(text.c_str(), format, &date);
    if (end && *end == '\0') return static_cast<std::int64_t>(::timegm(&date));
  }
  unsigned amount = 0;
  char unit = 0;
  char rest = 0;
  if (std::sscanf(text.c_str(), "%5u%c%c", &amount, &unit, &rest) == 2) {
    const std::int64_t seconds = unit == 'm' ? 60 : unit == 'h' ? 3600 : unit == 'd' ? 86400 : 0;
    if (seconds > 0) return static_cast<std::int64_t>(std::time(nullptr)) - seconds * amount;
  }
  return usage_error(
      "--since {}: want a date like 2026-01-31, with a time like 2026-01-31T12:00 (UTC), or 90m, 36h, 7d", text);
}

Result<std::pair<std::string, std::string>> parse_where(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == 0 || equals == std::string::npos) return usage_error("--where {}: want key=value", text);
  const std::string key = text.substr(0, equals);
  std::vector<std::string> known;
  for (const RecipeKey& one : recipe_keys()) {
    known.push_back(one.section.empty() ? one.key : one.section + "." + one.key);
  }
  if (std::ranges::find(known, key) == known.end()) {
    const std::string near = nearest_name(key, known);
    return usage_error("--where {}: no key of a recipe{}; `muster list keys` shows them", key,
                       near.empty() ? "" : fmt::format(" (did you mean '{}'?)", near));
  }
  return std::pair(key, recipe_value(text.substr(equals + 1)));
}

Result<RunFilter> filter_of(const RunsArguments& arguments) {
  RunFilter filter{.recipe = arguments.recipe, .tag = arguments.tag, .stopped = arguments.stopped};
  if (!arguments.since.empty()) {
    MUSTER_ASSIGN(filter.since_s, parse_since(arguments.since));
  }
  if (!arguments.stopped.empty() && std::ranges::find(kStopped, arguments.stopped) == kStopped.end()) {
    return usage_error("--stopped: {}", unknown_name("end of a run", arguments.stopped, kStopped));
  }
  for (const std::string& text : arguments.where) {
    MUSTER_ASSIGN(auto condition, parse_where(text));
    filter.where.push_back(std::move(condition));
  }
  const std::vector<std::string>& orders = run_orders();
  const auto order = std::ranges::find(orders, arguments.sort);
  if (order == orders.end()) return usage_error("--sort: {}", unknown_name("order", arguments.sort, orders));
  filter.order = static_cast<RunOrder>(order - orders.begin());
  filter.reverse = arguments.reverse;
  filter.limit = arguments.limit;
  return filter;
}

std::string ended(const StoredRun& run) {
  if (run.condition == RunCondition::kOver) return run.stopped;
  return std::string(name(run.condition));
}

std::vector<std::string> cells_of(const StoredRun& run) {
  const auto percent = [](const std::optional<double>& share) {
    return share ? fmt::format("{:.2f}", 100 * *share) : std::string("-");
  };
  std::string tags;
  for (const std::string& tag : run.tags) tags += (tags.empty() ? "" : " ") + tag;
  if (!run.fault.empty()) tags += (tags.empty() ? "" : " ") + fmt::format("({})", run.fault);
  return {shown_text(run.id),
          utc_text(run.begun_s).substr(0, 16),
          fmt::format("{}/{}", run.rounds, run.rounds_planned),
          percent(run.accuracy_last),
          percent(run.accuracy_best),
          ended(run),
          shown_text(tags)};
}

void print_runs(const std::vector<StoredRun>& runs) {
  std::vector<std::vector<std::string>> rows{{"run", "begun (UTC)", "rounds", "last %", "best %", "ended", "tags"}};
  for (const StoredRun& run : runs) rows.push_back(cells_of(run));
  print_table(rows, {false, false, true, true, true, false, false});
}

Status list_runs(const RunsArguments& arguments) {
  MUSTER_ASSIGN(const RunFilter filter, filter_of(arguments));
  MUSTER_ASSIGN(const Store store, open_store(arguments.out));
  MUSTER_ASSIGN(const std::vector<StoredRun> runs, store.list(filter));
  if (arguments.json) {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const StoredRun& run : runs) list.push_back(run_json(run));
    fmt::print("{}\n", json_text(list));
  } else if (runs.empty()) {
    std::fprintf(stderr, "muster: no such runs in %s\n", arguments.out.c_str());
  } else {
    print_runs(runs);
  }
  return flush_result();
}

}  // namespace

Result<Store> open_store(const std::string& out) {
  std::string why_not;
  MUSTER_ASSIGN(Store store, Store::open(out, &why_not));
  if (why_not.empty()) {
    if (auto update = store.refresh(Look::kClose); !update) why_not = update.error().message;
  }
  if (!why_not.empty()) {
    std::fprintf(stderr, "muster: note: %s; `muster runs reindex` makes it anew\n", why_not.c_str());
  }
  return store;
}

Status flush_result() {
  if (std::fflush(stdout) != 0) return failure("cannot write the result to stdout");
  return {};
}

void print_table(const std::vector<std::vector<std::string>>& rows, const std::vector<bool>& right) {
  std::vector<std::size_t> widths(right.size());
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], shown_columns(row[i]));
  }
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string fill(widths[i] - shown_columns(row[i]), ' ');
      line += (i > 0 ? "  " : "") + (right[i] ? fill + row[i] : row[i] + fill);
    }
    fmt::print("{}\n", line.substr(0, line.find_last_not_of(' ') + 1));
  }
}

void add_runs_command(Command program) {
  auto arguments = std::make_shared<RunsArguments>();
  Command command = program.add_command("runs", "List, filter and sort the runs of a folder, and look after them");
  command.add_option("--out", arguments->out, "Folder that holds the runs").show_default();
  command.add_option("--recipe", arguments->recipe, "Only runs of the recipe of this name");
  command.add_option("--tag", arguments->tag, "Only runs with this tag");
  command.add_option("--since", arguments->since,
                     "Only runs that began since: 2026-01-31, 2026-01-31T12:00 (UTC), or 90m, 36h, 7d ago");
  command.add_option("--stopped", arguments->stopped,
                     "Only runs that ended so: rounds, target, budget, patience, diverged, interrupted; or running, "
                     "unfinished");
  command.add_option("--where", arguments->where, "key=value: only runs whose recipe says so, repeatable")
      .one_at_a_time();
  command
      .add_option("--sort", arguments->sort,
                  "By date, name, recipe, seed, rounds, accuracy, best, loss, bytes, cost or time")
      .show_default();
  command.add_flag("--reverse", arguments->reverse, "The other way round: the oldest or the worst first");
  command.add_option("--limit", arguments->limit, "At most so many; default: all").at_least(1);
  command.add_flag("--json", arguments->json, "A list of what `muster run --json` prints");
  command.set_footer(
      "Examples:\n"
      "  muster runs\n"
      "  muster runs --recipe fedavg --where data.alpha=0.3 --sort accuracy\n"
      "  muster runs --stopped running --json\n"
      "  muster runs --since 7d --tag paper\n"
      "  muster runs diff fedavg-s1-20260101-120000 fedprox-s1-20260101-120200\n"
      "  muster runs tag fedavg-s1-20260101-120000 paper\n"
      "What is listed is read from the run folders; runs/store.sqlite only remembers it.");
  command.set_action([arguments] { return list_runs(*arguments); });
  add_runs_show_command(command);
  add_runs_diff_command(command);
  add_runs_tag_commands(command);
  add_runs_delete_command(command);
  add_runs_export_command(command);
  add_runs_reindex_command(command);
  command.set_commands_optional();
}

}  // namespace muster
