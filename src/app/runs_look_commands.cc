// `muster runs show` and `muster runs diff`: one run, and what two of them have in common and not.
#include <fmt/format.h>

#include <memory>

#include "app/print_field.h"
#include "app/runs_commands.h"
#include "base/names.h"
#include "base/shell_word.h"
#include "data/shown_text.h"
#include "record/json_text.h"
#include "store/run_diff.h"
#include "store/run_json.h"

namespace muster {
namespace {

using Json = nlohmann::ordered_json;

struct ShowArguments {
  std::string out = "runs";
  std::string run;
  bool json = false;
};

struct DiffArguments {
  std::string out = "runs";
  std::string a;
  std::string b;
  bool json = false;
};

std::string percent(const std::optional<double>& share) {
  return share ? fmt::format("{:.2f} %", 100 * *share) : std::string("-");
}

void print_run(const StoredRun& run, const std::map<std::string, std::string>& recipe) {
  fmt::print("{}: {}, seed {}, {} of {} rounds\n", shown_text(run.id), shown_text(run.recipe), run.seed, run.rounds,
             run.rounds_planned);
  print_field("ended", run.condition == RunCondition::kOver ? run.stopped : std::string(name(run.condition)));
  print_field("begun", utc_text(run.begun_s) + " UTC");
  print_field("accuracy", fmt::format("last {}  best {} (round {})", percent(run.accuracy_last),
                                      percent(run.accuracy_best), run.best_round));
  if (!run.data.empty()) print_field("data", shown_text(run.data));
  if (run.groups) print_field("groups", std::to_string(*run.groups));
  print_field("cost", fmt::format("{:.1f} simulated seconds, {:.1f} MB, {:.2f} s on this machine", run.cost_s,
                                  static_cast<double>(run.bytes) / 1e6, run.wall_s));
  if (run.deployed) print_field("deployed", "its clients were processes of their own");
  if (!run.signature.empty()) print_field("signature", run.signature);
  std::string tags;
  for (const std::string& tag : run.tags) tags += (tags.empty() ? "" : " ") + tag;
  if (!tags.empty()) print_field("tags", shown_text(tags));
  if (!run.fault.empty()) print_field("fault", shown_text(run.fault));
  // In one piece, to be copied.
  fmt::print("  {:<10} {}\n", "folder", shown_text(run.dir.string()));
  fmt::print("  {:<10} muster run {}\n", "repeat", shown_text(shell_word((run.dir / "recipe.toml").string())));
  for (const auto& [key, value] : recipe) {
    fmt::print("  {} = {}\n", shown_text(key), shown_text(value));
  }
}

Status show(const ShowArguments& arguments) {
  MUSTER_ASSIGN(const Store store, open_store(arguments.out));
  MUSTER_ASSIGN(const StoredRun run, store.find(arguments.run));
  MUSTER_ASSIGN(const auto recipe, store.recipe(run.id));
  if (arguments.json) {
    Json json = run_json(run);
    json["keys"] = recipe;
    fmt::print("{}\n", json_text(json));
  } else {
    print_run(run, recipe);
  }
  return flush_result();
}

Json in_json(const std::vector<ValueDifference>& differences) {
  Json list = Json::array();
  for (const ValueDifference& one : differences) list.push_back({{"key", one.key}, {"a", one.a}, {"b", one.b}});
  return list;
}

// A value in a table: a word as it is, a long list only in its beginning.
std::string cell(const Json& value) {
  constexpr std::size_t kMost = 40;
  std::string text = shown_text(value.is_null()     ? "-"
                                : value.is_string() ? value.get<std::string>()
                                                    : json_text(value));
  if (text.size() <= kMost) return text;
  std::size_t end = kMost - 3;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  return text.substr(0, end) + "...";
}

void print_differences(const char* title, const std::vector<ValueDifference>& differences) {
  if (differences.empty()) return fmt::print("{}: the same\n", title);
  std::vector<std::vector<std::string>> rows{{fmt::format("{}:", title), "a", "b"}};
  for (const ValueDifference& one : differences) {
    rows.push_back({"  " + shown_text(one.key), cell(one.a), cell(one.b)});
  }
  print_table(rows, {false, false, false});
}

Status diff(const DiffArguments& arguments) {
  MUSTER_ASSIGN(const Store store, open_store(arguments.out));
  MUSTER_ASSIGN(const StoredRun a, store.find(arguments.a));
  MUSTER_ASSIGN(const StoredRun b, store.find(arguments.b));
  MUSTER_ASSIGN(const RunDiff found, diff_runs(store, a, b));
  if (arguments.json) {
    fmt::print("{}\n", json_text(Json{{"a", a.id},
                                      {"b", b.id},
                                      {"recipe", in_json(found.recipe)},
                                      {"data", in_json(found.data)},
                                      {"result", in_json(found.result)},
                                      {"first_round", found.first_round ? Json(*found.first_round) : Json(nullptr)}}));
    return flush_result();
  }
  fmt::print("a: {}\nb: {}\n", shown_text(a.id), shown_text(b.id));
  print_differences("recipe", found.recipe);
  print_differences("data", found.data);
  print_differences("result", found.result);
  if (found.first_round) {
    fmt::print("rounds: differ from round {} on\n", *found.first_round);
  } else {
    fmt::print("rounds: the same in all {} that both have\n", std::min(a.rounds, b.rounds));
  }
  return flush_result();
}

}  // namespace

void add_runs_show_command(Command runs) {
  auto arguments = std::make_shared<ShowArguments>();
  Command command = runs.add_command("show", "One run: how it ended, and every key of its recipe");
  command.add_option("run", arguments->run, "Its id, the beginning of it, or its folder").required();
  command.add_option("--out", arguments->out, "Folder that holds the runs").show_default();
  command.add_flag("--json", arguments->json, "As one JSON object");
  command.set_footer("Examples:\n  muster runs show fedavg-s1-20260101-120000\n  muster runs show fedavg-s1 --json");
  command.set_action([arguments] { return show(*arguments); });
}

void add_runs_diff_command(Command runs) {
  auto arguments = std::make_shared<DiffArguments>();
  Command command = runs.add_command("diff", "What differs between two runs: recipe, data, result");
  command.add_option("a", arguments->a, "A run: its id, the beginning of it, or its folder").required();
  command.add_option("b", arguments->b, "Another").required();
  command.add_option("--out", arguments->out, "Folder that holds the runs").show_default();
  command.add_flag("--json", arguments->json, "As one JSON object");
  command.set_footer(
      "Examples:\n  muster runs diff fedavg-s1-20260101-120000 fedprox-s1-20260101-120200\n"
      "  muster runs diff fedavg-s1 fedavg-s2 --json");
  command.set_action([arguments] { return diff(*arguments); });
}

}  // namespace muster
