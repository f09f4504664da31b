// `muster runs tag`, `untag` and `delete`: what people do to runs.
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <iostream>
#include <memory>

#include "app/runs_commands.h"
#include "base/names.h"
#include "data/shown_text.h"

namespace muster {
namespace {

struct TagArguments {
  std::string out = "runs";
  std::string run;
  std::vector<std::string> words;
};

struct DeleteArguments {
  std::string out = "runs";
  std::vector<std::string> runs;
  bool yes = false;
};

Status change_tags(const TagArguments& arguments,
                   Result<bool> (Store::*change)(const std::string&, const std::string&)) {
  MUSTER_ASSIGN(Store store, open_store(arguments.out));
  MUSTER_ASSIGN(const StoredRun run, store.find(arguments.run));
  for (const std::string& word : arguments.words) MUSTER_TRY((store.*change)(run.id, word));
  MUSTER_ASSIGN(const StoredRun now, store.find(run.id));
  std::string tags;
  for (const std::string& tag : now.tags) tags += " " + tag;
  fmt::print("{}:{}\n", shown_text(run.id), tags.empty() ? " no tags" : shown_text(tags));
  return flush_result();
}

bool agreed(const std::vector<StoredRun>& runs) {
  for (const StoredRun& run : runs) {
    std::fprintf(stderr, "  %s: %s, %u rounds\n", run.dir.c_str(), shown_text(run.recipe).c_str(), run.rounds);
  }
  std::fprintf(stderr, "delete %s for good? [y/N] ", counted(runs.size(), "run").c_str());
  std::string answer;
  std::getline(std::cin, answer);
  return answer == "y" || answer == "Y" || answer == "yes";
}

Status delete_runs(const DeleteArguments& arguments) {
  MUSTER_ASSIGN(Store store, open_store(arguments.out));
  std::vector<StoredRun> runs;
  for (const std::string& word : arguments.runs) {
    // Something that is to be gone is named whole.
    MUSTER_ASSIGN(StoredRun run, store.find(word));
    if (run.id != word &&
        run.dir.filename() != std::filesystem::path(word + "/.").lexically_normal().parent_path().filename()) {
      return usage_error("{}: the beginning of {}; name a run that is to be deleted in full", word, run.id);
    }
    runs.push_back(std::move(run));
  }
  if (!arguments.yes) {
    if (::isatty(STDIN_FILENO) == 0) return usage_error("runs delete: want --yes where nobody can be asked");
    if (!agreed(runs)) {
      std::fprintf(stderr, "muster: nothing was deleted\n");
      return {};
    }
  }
  for (const StoredRun& run : runs) {
    MUSTER_TRY(store.remove(run.id));
    fmt::print("{}: deleted\n", shown_text(run.id));
  }
  return flush_result();
}

void add_tag_command(Command runs, const char* name, const char* summary, const char* words, const char* footer,
                     Result<bool> (Store::*change)(const std::string&, const std::string&)) {
  auto arguments = std::make_shared<TagArguments>();
  Command command = runs.add_command(name, summary);
  command.add_option("run", arguments->run, "Its id, the beginning of it, or its folder").required();
  command.add_option("words", arguments->words, words).required();
  command.add_option("--out", arguments->out, "Folder that holds the runs").show_default();
  command.set_footer(footer);
  command.set_action([arguments, change] { return change_tags(*arguments, change); });
}

}  // namespace

void add_runs_tag_commands(Command runs) {
  add_tag_command(runs, "tag", "Give a run tags", "Words without blanks and commas",
                  "Examples:\n  muster runs tag fedavg-s1-20260101-120000 paper baseline\n  muster runs --tag paper",
                  &Store::tag);
  add_tag_command(runs, "untag", "Take tags from a run", "Tags that it has; others do no harm",
                  "Example:\n  muster runs untag fedavg-s1-20260101-120000 baseline", &Store::untag);
}

void add_runs_delete_command(Command runs) {
  auto arguments = std::make_shared<DeleteArguments>();
  Command command = runs.add_command("delete", "Delete runs and their folders for good");
  command.add_option("runs", arguments->runs, "Their ids in full, or their folders").required();
  command.add_flag("--yes", arguments->yes, "Do not ask");
  command.add_option("--out", arguments->out, "Folder that holds the runs").show_default();
  command.set_footer(
      "Examples:\n  muster runs delete fedavg-s1-20260101-120000\n"
      "  muster runs delete fedavg-s1-20260101-120000 fedprox-s1-20260101-120200 --yes\n"
      "A run that a process works on is not deleted, nor what links in its folder lead to.");
  command.set_action([arguments] { return delete_runs(*arguments); });
}

}  // namespace muster
