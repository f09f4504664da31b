// `muster runs export`: runs for other tools that keep track of runs.
#include <fmt/format.h>

#include <memory>

#include "app/runs_commands.h"
#include "data/shown_text.h"
#include "store/mlflow_export.h"

namespace muster {
namespace {

struct RunsExportArguments {
  std::string out = "runs";
  std::vector<std::string> runs;
  std::string mlflow;
  std::string experiment = "muster";
};

Status export_runs(const RunsExportArguments& arguments) {
  if (arguments.experiment.empty()) return usage_error("--experiment: want a name");
  MUSTER_ASSIGN(const Store store, open_store(arguments.out));
  std::vector<StoredRun> runs;
  for (const std::string& word : arguments.runs) {
    MUSTER_ASSIGN(StoredRun run, store.find(word));
    runs.push_back(std::move(run));
  }
  if (arguments.runs.empty()) {
    MUSTER_ASSIGN(runs, store.list());
  }
  for (const StoredRun& run : runs) {
    MUSTER_ASSIGN(const MlflowExport made, export_to_mlflow(store, run, arguments.mlflow, arguments.experiment));
    fmt::print("{}: {}\n", shown_text(run.id), made.folder.string());
  }
  return flush_result();
}

}  // namespace

void add_runs_export_command(Command runs) {
  auto arguments = std::make_shared<RunsExportArguments>();
  Command command = runs.add_command("export", "Write runs as MLflow keeps them in files");
  command.add_option("runs", arguments->runs, "Which: their ids, or their folders; default: all");
  command.add_option("--mlflow", arguments->mlflow, "Folder of MLflow's file store, made if it is not there")
      .required();
  command.add_option("--experiment", arguments->experiment, "Experiment to put them into").show_default();
  command.add_option("--out", arguments->out, "Folder that holds the runs").show_default();
  command.set_footer(
      "Examples:\n  muster runs export --mlflow mlruns\n"
      "  muster runs export fedavg-s1-20260101-120000 --mlflow mlruns --experiment skewed\n"
      "`mlflow ui --backend-store-uri mlruns` shows them. A run that was exported before is replaced.");
  command.set_action([arguments] { return export_runs(*arguments); });
}

}  // namespace muster
