// `muster predict`: classes and probabilities for new rows, with the run's own preprocessing.
#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "app/commands.h"
#include "base/file.h"
#include "base/names.h"
#include "engine/row_predictions.h"
#include "record/json_text.h"

namespace muster {
namespace {

struct PredictArguments {
  std::string run;
  std::string runs = "runs";
  std::string data;
  std::string out;
  PredictionOptions model;
  bool quiet = false;
  bool json = false;
};

Status predict_rows(const PredictArguments& arguments) {
  if (arguments.model.group && !arguments.model.client.empty()) {
    return usage_error("--group: does not go with --client; leave out one of them");
  }
  MUSTER_ASSIGN(SavedRun run, SavedRun::open(arguments.runs, arguments.run));
  MUSTER_ASSIGN(const PreparedRows rows, prepare_rows(arguments.data, run.preparation()));
  if (!arguments.quiet) {
    for (const std::string& note : rows.notes) std::fprintf(stderr, "muster: note: %s\n", note.c_str());
  }
  auto predicted = predict(run, rows, arguments.model);
  if (!predicted) {
    Error error = std::move(predicted).error();
    return error.message.starts_with("line ") ? std::move(error).within(arguments.data) : error;
  }
  const RowPredictions& predictions = *predicted;
  const bool to_stdout = arguments.out.empty() && !arguments.json;
  if (to_stdout || !arguments.out.empty()) {
    const std::string text = predictions_csv(run, rows, predictions);
    if (to_stdout) {
      std::fwrite(text.data(), 1, text.size(), stdout);
    } else {
      MUSTER_TRY(write_output(arguments.out, text));
    }
  }
  if (arguments.json) {
    nlohmann::ordered_json result{{"rows", rows.samples.size()}, {"accuracy", nullptr}, {"out", nullptr}};
    if (predictions.accuracy) result["accuracy"] = *predictions.accuracy;
    if (!arguments.out.empty()) result["out"] = arguments.out;
    fmt::print("{}\n", json_text(result));
  } else {
    const std::string accuracy =
        predictions.accuracy ? fmt::format(", accuracy {:.2f} %", 100 * *predictions.accuracy) : std::string();
    if (!to_stdout) {
      fmt::print("{}{}: {}\n", counted(rows.samples.size(), "row"), accuracy, arguments.out);
    } else if (!arguments.quiet) {
      std::fprintf(stderr, "muster: %s%s\n", counted(rows.samples.size(), "row").c_str(), accuracy.c_str());
    }
  }
  if (std::fflush(stdout) != 0) return failure("cannot write the result to stdout");
  return {};
}

}  // namespace

void add_predict_command(Command program) {
  auto arguments = std::make_shared<PredictArguments>();
  Command command = program.add_command("predict", "Classes and probabilities for new rows, by a run's model");
  command.add_option("run", arguments->run, "The run's folder, or its id under --runs").required();
  command
      .add_option("--data", arguments->data,
                  "File of rows like those the run was trained on, with or without labels (csv, or npz)")
      .required();
  command.add_option("--out", arguments->out, "File to write the table of predictions to; default: stdout");
  command.add_option("--group", arguments->model.group, "Ask the model of this group for all rows");
  command.add_option("--client", arguments->model.client,
                     "Ask the model of this client, by name or number, for all rows; default where the run has several "
                     "models: that of each row's client");
  command.add_option("--runs", arguments->runs, "Folder that holds the runs").show_default();
  command.add_flag("--quiet", arguments->quiet, "No notes on stderr");
  command.add_flag("--json", arguments->json, "Number of rows, accuracy and file as one JSON object");
  command.set_footer(
      "Examples:\n"
      "  muster predict runs/fedavg-s1-20260101-120000 --data new.csv --out predicted.csv\n"
      "  muster predict fedgroup-s1-20260101-120000 --data new.csv --client 'St. Mary' --json");
  command.set_action([arguments] { return predict_rows(*arguments); });
}

}  // namespace muster
