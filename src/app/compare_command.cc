// `muster compare`: several methods on one task, one table.
#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <optional>

#include "app/commands.h"
#include "app/comparison_words.h"
#include "app/interruption.h"
#include "app/kept_store.h"
#include "app/left_report.h"
#include "app/page_arguments.h"
#include "base/names.h"
#include "base/shell_word.h"
#include "engine/comparison.h"
#include "engine/comparison_grid.h"
#include "engine/comparison_json.h"
#include "engine/comparison_table.h"
#include "engine/comparison_text.h"
#include "report/comparison_file.h"

namespace muster {
namespace {

struct CompareArguments {
  std::vector<std::string> methods;
  std::string task;
  std::string seeds = "1,2,3";
  std::vector<std::string> grid;
  std::vector<std::string> settings;
  std::optional<std::uint32_t> rounds;
  std::string targets;
  std::uint32_t last = 10;
  std::string out = "runs";
  std::uint32_t threads = 0;
  bool json = false;
  bool csv = false;
  bool markdown = false;
  bool latex = false;
  bool quiet = false;
  PageArguments page;
  Ranks* ranks = nullptr;
};

// What is set for all methods, then what is set for this one.
Result<ComparisonRow> row_of(const std::string& word, const CompareArguments& arguments,
                             const std::vector<GridKey>& grid) {
  MUSTER_ASSIGN(MethodWord method, parse_method(word));
  MUSTER_ASSIGN(Recipe recipe, load_recipe(method.recipe, arguments.task));
  for (const std::string& setting : arguments.settings) MUSTER_TRY(apply_setting(recipe, setting));
  if (arguments.rounds) MUSTER_TRY(apply_setting(recipe, fmt::format("rounds={}", *arguments.rounds)));
  for (const std::string& setting : method.settings) MUSTER_TRY(apply_setting(recipe, setting));
  return ComparisonRow{.label = std::move(method.label), .recipe = std::move(recipe), .grid = grid};
}

Result<std::vector<ComparisonRow>> rows_of(const CompareArguments& arguments) {
  std::vector<GridKey> grid;
  for (const std::string& text : arguments.grid) {
    MUSTER_ASSIGN(GridKey key, parse_grid_key(text));
    for (const GridKey& other : grid) {
      if (other.key == key.key) return usage_error("--grid {}: {} is there twice", text, key.key);
    }
    grid.push_back(std::move(key));
  }
  std::vector<ComparisonRow> rows;
  for (const std::string& word : arguments.methods) {
    Result<ComparisonRow> row = row_of(word, arguments, grid);
    if (!row) return std::move(row).error().within(word);
    rows.push_back(std::move(row).value());
  }
  return rows;
}

// What makes the same comparison again, where its runs are not there.
std::string command_of(const CompareArguments& arguments) {
  std::string line = "muster compare";
  const auto add = [&line](std::string_view option, const std::string& value) {
    if (value.empty()) return;
    line += fmt::format(" {}{}{}", option, option.empty() ? "" : " ", shell_word(value));
  };
  for (const std::string& method : arguments.methods) add("", method);
  add("--task", arguments.task);
  add("--seeds", arguments.seeds);
  for (const std::string& grid : arguments.grid) add("--grid", grid);
  for (const std::string& setting : arguments.settings) add("--set", setting);
  if (arguments.rounds) add("--rounds", std::to_string(*arguments.rounds));
  add("--targets", arguments.targets);
  return line;
}

std::string written(const ComparisonTable& table, const CompareArguments& arguments) {
  if (arguments.json) return to_json(table) + "\n";
  if (arguments.csv) return to_csv(table);
  if (arguments.markdown) return to_markdown(table);
  if (arguments.latex) return to_latex(table);
  return to_plain_text(table);
}

Status check_arguments(const CompareArguments& arguments) {
  const int formats = int{arguments.json} + int{arguments.csv} + int{arguments.markdown} + int{arguments.latex};
  if (formats > 1) return usage_error("--json, --csv, --markdown, --latex: give one of them");
  return {};
}

Result<Comparison> compare(const CompareArguments& arguments, std::string& task) {
  ComparisonOptions options;
  MUSTER_ASSIGN(options.seeds, parse_seeds("--seeds", arguments.seeds));
  MUSTER_ASSIGN(std::vector<ComparisonRow> rows, rows_of(arguments));
  task = rows.front().recipe.task;
  options.sweep.threads = arguments.threads;
  options.sweep.out = arguments.out;
  options.sweep.quiet = arguments.quiet;
  options.sweep.interrupt = &catch_interruptions();
  options.sweep.ranks = arguments.ranks;
  if (!arguments.quiet) {
    options.sweep.say = [](const std::string& text) { std::fprintf(stderr, "muster: %s\n", text.c_str()); };
  }
  const std::unique_ptr<StoreKeeper> store = keep_store(arguments.out, "", arguments.quiet);
  MUSTER_ASSIGN(const std::unique_ptr<LivePage> page, arguments.page.start(arguments.out));
  Result<Comparison> compared = run_comparison(std::move(rows), options);
  if (compared) store->finish();
  return compared;
}

// What is left to be said when a comparison was interrupted.
void say_interrupted(const Comparison& comparison) {
  std::fprintf(stderr, "muster: interrupted with %zu of %zu runs done; the same command goes on from here\n",
               comparison.finished_runs, comparison.all_runs);
}

}  // namespace

void add_compare_command(Command program, Ranks* ranks) {
  auto arguments = std::make_shared<CompareArguments>();
  arguments->ranks = ranks;
  Command command =
      program.add_command("compare", "Run several methods on the same data, split and initial model; one table");
  command
      .add_option("recipe", arguments->methods,
                  "Methods: a built-in recipe, a .toml file, either with settings of its own as "
                  "RECIPE+key=value+key=value, and with a name as NAME:RECIPE; differences are to the first")
      .required();
  command.add_option(
      "--task", arguments->task,
      "What all methods run on: a built-in task (see `muster list tasks`) or a .toml file; default: the recipes' own");
  command.add_option("--seeds", arguments->seeds, "Seeds, with commas between them; every method is run with each")
      .show_default();
  command
      .add_option("--grid", arguments->grid,
                  "section.key=a,b,c: values to try, repeatable; the best of a method's on validation samples is shown")
      .one_at_a_time();
  command
      .add_option("--set", arguments->settings,
                  "section.key=value: any key of the recipes, for all methods, repeatable")
      .one_at_a_time();
  command.add_option("--rounds", arguments->rounds, "Rounds of training; default: the task's");
  command.add_option("--targets", arguments->targets,
                     "Accuracies to be reached, with commas between them; default: 50, 80, 95 and 100 % of the first "
                     "method's last accuracy");
  command.add_option("--last", arguments->last, "Evaluations that the mean of the last is of")
      .at_least(1)
      .show_default();
  command.add_option("--out", arguments->out, "Folder to look for runs and to put their folders in").show_default();
  command
      .add_option("--threads", arguments->threads,
                  "Worker threads for all runs together, of each rank where there are several; default: all cores. The "
                  "result does not depend on it")
      .between(1, 1024);
  command.add_flag("--json", arguments->json, "The result as one JSON object");
  command.add_flag("--csv", arguments->csv, "The result as a table with commas, a line per method");
  command.add_flag("--markdown", arguments->markdown, "The result as Markdown");
  command.add_flag("--latex", arguments->latex, "The result as LaTeX, for the package booktabs");
  command.add_flag("--quiet", arguments->quiet, "No progress and no notes on stderr");
  arguments->page.add_to(command);
  command.set_footer(
      "Examples:\n"
      "  muster compare fedavg fedprox scaffold --seeds 1,2,3 --rounds 50\n"
      "  muster compare fedavg fedprox+local.mu=0.1 weak:fedprox+local.mu=0.001\n"
      "  muster compare fedavg fedprox --grid local.learning-rate=0.01,0.05,0.1 --grid local.mu=0.01,0.1\n"
      "  muster compare fedavg fedgsp --task cifar-dirichlet --seeds 1,2,3,4,5\n"
      "  muster compare fedavg my.toml --set data.alpha=0.3 --targets 0.7,0.8 --latex > table.tex\n"
      "Finished runs are not run again and interrupted ones go on, so the same line with another format only prints.");
  command.set_action([arguments, command]() mutable -> Status {
    MUSTER_TRY(check_arguments(*arguments));
    ComparisonTableOptions options{.command = command_of(*arguments), .tail = arguments->last};
    if (!arguments->targets.empty()) {
      MUSTER_ASSIGN(options.targets, parse_targets("--targets", arguments->targets));
    }
    MUSTER_ASSIGN(const Comparison comparison, compare(*arguments, options.task));
    arguments->page.say_afterwards(arguments->out, arguments->quiet);
    if (comparison.interrupted) {
      if (!arguments->quiet) say_interrupted(comparison);
      command.set_exit_status(interrupted_status());
      return {};
    }
    const ComparisonTable table = tabulate(comparison, options);
    MUSTER_ASSIGN(const std::filesystem::path file, write_comparison(arguments->out, table));
    fmt::print("{}", written(table, *arguments));
    if (std::fflush(stdout) != 0) return failure("cannot write the result to stdout");
    const bool page = leave_report(file, table, arguments->quiet);
    if (!arguments->quiet) {
      const std::string stem = std::filesystem::path(file).replace_extension().string();
      std::fprintf(stderr, "muster: %s.json lists the runs; %s%s%s\n", stem.c_str(), page ? "" : "`muster report ",
                   stem.c_str(), page ? ".html is a page of them" : ".json` makes a page of them");
    }
    return {};
  });
}

}  // namespace muster
