// `muster reproduce`: a table or figure of a paper, ours beside the paper's.
#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "app/child_process.h"
#include "app/commands.h"
#include "app/interruption.h"
#include "app/kept_store.h"
#include "base/file.h"
#include "base/names.h"
#include "engine/reproduction.h"
#include "engine/reproduction_text.h"

namespace muster {
namespace {

struct ReproduceArguments {
  std::string target;
  std::string scale = "small";
  std::string out = "runs/reproduce";
  std::string write_docs;
  std::string judgements = "docs/judgements.toml";
  std::uint32_t threads = 0;
  bool dry_run = false;
  bool json = false;
  bool quiet = false;
  Ranks* ranks = nullptr;
};

Status print(const std::string& text) {
  fmt::print("{}", text);
  if (std::fflush(stdout) != 0) return failure("cannot write the result to stdout");
  return {};
}

std::string minutes(double value) {
  if (value < 1) return fmt::format("{:.0f} s", 60 * value);
  return value < 120 ? fmt::format("{:.0f} min", value) : fmt::format("{:.0f} h", value / 60);
}

Status list_targets(const ReproduceArguments& arguments) {
  std::string text = fmt::format("  {:<18} {:>6} {:>6} {:>6}\n", "target", "smoke", "small", "full");
  nlohmann::ordered_json json = {{"targets", nlohmann::ordered_json::array()}};
  for (const std::string& name : target_names()) {
    MUSTER_ASSIGN(const Target target, find_target(name));
    nlohmann::ordered_json entry = {{"target", name}, {"title", target.title}};
    std::string times;
    for (const Scale scale : kScales) {
      const double about = target.scales[static_cast<std::size_t>(scale)].minutes;
      times += fmt::format(" {:>6}", minutes(about));
      entry["minutes"][std::string(muster::name(scale))] = about;
    }
    text += fmt::format("  {:<18}{}  {}\n", name, times, target.title);
    json["targets"].push_back(std::move(entry));
  }
  text += "Times are about, on two cores; `muster reproduce TARGET --scale full --dry-run` measures them here.\n";
  return print(arguments.json ? json.dump() + "\n" : text);
}

ReproductionOptions options_of(const ReproduceArguments& arguments) {
  ReproductionOptions options{.threads = arguments.threads, .out = arguments.out, .quiet = arguments.quiet};
  options.interrupt = &catch_interruptions();
  options.ranks = arguments.ranks;
  if (!arguments.quiet) {
    options.say = [](const std::string& text) { std::fprintf(stderr, "muster: %s\n", text.c_str()); };
  }
  return options;
}

std::string told(const ExpectedTime& expected, bool ranks) {
  return fmt::format("{}, about {} {}if none is there yet{}", counted(expected.runs, "run"),
                     minutes(expected.seconds / 60), ranks ? "on one rank " : "",
                     expected.complete ? "" : "; some cannot be told before their groups are there");
}

// The commit of the working folder, where it is of a repository; "" = not known.
std::string commit_here() {
  auto git = ChildProcess::start({"git", "describe", "--always", "--dirty", "--exclude", "*"}, {});
  if (!git) return "";
  const auto line = git->read_line(5);
  return line ? *line : "";
}

Status write_docs(const ReproduceArguments& arguments) {
  if (!arguments.target.empty()) {
    return usage_error("--write-docs: takes the stored results of all targets; leave out '{}'", arguments.target);
  }
  MUSTER_ASSIGN(const auto judgements, read_judgements(arguments.judgements));
  std::vector<Reproduction> stored;
  for (const std::string& name : target_names()) {
    const std::filesystem::path file = result_file(arguments.out, name, Scale::kSmall);
    std::error_code ignored;
    if (!std::filesystem::exists(file, ignored)) {
      if (arguments.quiet) continue;
      std::fprintf(stderr, "muster: %s: no result at small in %s; left out\n", name.c_str(), arguments.out.c_str());
      continue;
    }
    MUSTER_ASSIGN(Reproduction one, read_reproduction(file));
    stored.push_back(std::move(one));
  }
  if (stored.empty())
    return failure("{}: no results; run `muster reproduce TARGET --scale small` first", arguments.out);
  return write_output(arguments.write_docs, results_page(stored, judgements, commit_here()));
}

Status reproduce_one(const ReproduceArguments& arguments, Command& command) {
  MUSTER_ASSIGN(const Scale scale, parse_scale(arguments.scale));
  MUSTER_ASSIGN(const Target target, find_target(arguments.target));
  const ReproductionOptions options = options_of(arguments);
  if (arguments.dry_run || scale == Scale::kFull) {
    MUSTER_ASSIGN(const ExpectedTime expected, expected_time(target, scale, options.threads));
    const std::string line =
        fmt::format("{} at {}: {}", target.name, name(scale), told(expected, arguments.ranks != nullptr));
    if (arguments.dry_run) return print(line + "\n");
    std::fprintf(stderr, "muster: %s\n", line.c_str());
  }
  std::unique_ptr<StoreKeeper> store = keep_store(arguments.out, "", arguments.quiet);
  MUSTER_ASSIGN(const Reproduction result, reproduce(target, scale, options));
  store->finish();
  if (result.interrupted) {
    std::fprintf(stderr, "muster: interrupted with %zu of %zu runs done; the same command goes on from here\n",
                 result.finished_runs, result.all_runs);
    command.set_exit_status(interrupted_status());
    return {};
  }
  return print(arguments.json ? to_json(result) + "\n" : to_plain_text(result));
}

}  // namespace

void add_reproduce_command(Command program, Ranks* ranks) {
  auto arguments = std::make_shared<ReproduceArguments>();
  arguments->ranks = ranks;
  Command command = program.add_command("reproduce", "A table or figure of a paper: ours beside the paper's");
  command.add_option("target", arguments->target, "E.g. fedgsp:table1; without it all targets are listed");
  command
      .add_option("--scale", arguments->scale,
                  "smoke (seconds, generated data), small (minutes) or full (the paper's setting)")
      .show_default();
  command.add_option("--out", arguments->out, "Folder of runs and results; runs that are there are not run again")
      .show_default();
  command
      .add_option(
          "--threads", arguments->threads,
          "Worker threads, of each rank where there are several; default: all cores. The result does not depend "
          "on it")
      .between(1, 1024);
  command.add_flag("--dry-run", arguments->dry_run, "Print how many runs there are, and about how long they take");
  command.add_option("--write-docs", arguments->write_docs,
                     "Write this page from the stored results of all targets at small; runs nothing");
  command.add_option("--judgements", arguments->judgements, "Of --write-docs: a sentence for each target")
      .show_default();
  command.add_flag("--json", arguments->json, "The result as one JSON object");
  command.add_flag("--quiet", arguments->quiet, "No progress and no notes on stderr");
  command.set_footer(
      "Examples:\n"
      "  muster reproduce\n"
      "  muster reproduce group-fel:fig6\n"
      "  muster reproduce fedgroup:table1 --scale smoke --json\n"
      "  muster reproduce fedgsp:table1 --scale full --dry-run\n"
      "  muster reproduce --write-docs docs/results.md");
  command.set_action([arguments, command]() mutable -> Status {
    if (!arguments->write_docs.empty()) return write_docs(*arguments);
    if (arguments->target.empty()) return list_targets(*arguments);
    return reproduce_one(*arguments, command);
  });
}

}  // namespace muster
