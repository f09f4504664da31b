#include "engine/row_predictions.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <unordered_map>

#include "base/csv_cell.h"
#include "model/executor.h"

namespace muster {
namespace {

constexpr std::uint32_t kBatch = 256;

// Rows by the model that answers for them.
using RowsOfModel = std::map<std::string, std::pair<ModelChoice, std::vector<std::uint32_t>>>;

void add_row(RowsOfModel& rows, const ModelChoice& choice, std::uint32_t row) {
  auto& entry = rows[describe(choice)];
  entry.first = choice;
  entry.second.push_back(row);
}

Result<RowsOfModel> rows_by_client(const SavedRun& run, const PreparedRows& rows) {
  RowsOfModel models;
  std::unordered_map<std::string_view, ModelChoice> known;
  for (std::uint32_t row = 0; row < rows.clients.size(); ++row) {
    auto found = known.find(rows.clients[row]);
    if (found == known.end()) {
      auto choice = run.of_client(rows.clients[row]);
      if (!choice) return std::move(choice).error().within(fmt::format("line {}", rows.lines[row]));
      found = known.emplace(rows.clients[row], *choice).first;
    }
    add_row(models, found->second, row);
  }
  return models;
}

Result<RowsOfModel> choose_models(const SavedRun& run, const PreparedRows& rows, const PredictionOptions& options) {
  if (!options.group && options.client.empty() && run.models().size() > 1 && !rows.clients.empty()) {
    return rows_by_client(run, rows);
  }
  const Result<ModelChoice> choice = options.group             ? run.of_group(*options.group)
                                     : !options.client.empty() ? run.of_client(options.client)
                                                               : run.reported();
  if (!choice) return choice.error();
  RowsOfModel models;
  for (std::uint32_t row = 0; row < rows.samples.size(); ++row) add_row(models, *choice, row);
  return models;
}

// Logits of one row -> probabilities of the classes. One output: the logistic function gives that of class 1.
void to_probabilities(std::span<const float> logits, std::span<float> out) {
  if (logits.size() == 1) {
    out[1] = 1.0f / (1.0f + std::exp(-logits[0]));
    out[0] = 1.0f / (1.0f + std::exp(logits[0]));
    return;
  }
  const float largest = *std::ranges::max_element(logits);
  double sum = 0;
  for (std::size_t c = 0; c < logits.size(); ++c) sum += out[c] = std::exp(logits[c] - largest);
  for (float& p : out) p = static_cast<float>(p / sum);
}

// As the run's own evaluation decides: the first of the largest logits; of one output its sign.
std::uint32_t class_of(std::span<const float> logits) {
  if (logits.size() == 1) return logits[0] > 0 ? 1 : 0;
  return static_cast<std::uint32_t>(std::ranges::max_element(logits) - logits.begin());
}

void answer(Executor& executor, const Samples& samples, std::span<const std::uint32_t> rows, RowPredictions& into) {
  const std::size_t outputs = executor.network().outputs();
  std::vector<std::uint32_t> positions(kBatch);
  std::vector<float> logits(kBatch * outputs);
  const SampleView view{&samples, rows, 0};
  for (std::size_t first = 0; first < rows.size(); first += kBatch) {
    const auto batch = static_cast<std::uint32_t>(std::min<std::size_t>(kBatch, rows.size() - first));
    for (std::uint32_t i = 0; i < batch; ++i) positions[i] = static_cast<std::uint32_t>(first + i);
    gather(view, std::span(positions).first(batch), {}, nullptr, executor.input(batch), executor.labels(batch));
    executor.evaluate(batch);
    executor.logits(batch, std::span(logits).first(batch * outputs));
    for (std::uint32_t i = 0; i < batch; ++i) {
      const std::span<const float> row = std::span<const float>(logits).subspan(i * outputs, outputs);
      const std::size_t at = rows[first + i];
      into.predicted[at] = class_of(row);
      to_probabilities(row, std::span(into.probabilities).subspan(at * into.classes, into.classes));
    }
  }
}

}  // namespace

Result<RowPredictions> predict(SavedRun& run, const PreparedRows& rows, const PredictionOptions& options) {
  if (run.network()->external()) {
    return usage_error("{}: only the clients of model.name = \"{}\" can run its model", run.folder().id(),
                       run.recipe().model.name);
  }
  const std::size_t count = rows.samples.size();
  RowPredictions result{.classes = run.network()->classes()};
  MUSTER_ASSIGN(const RowsOfModel models, choose_models(run, rows, options));
  result.predicted.resize(count);
  result.probabilities.resize(count * result.classes);
  Executor executor(run.network(), kBatch);
  for (const auto& [name, entry] : models) {
    MUSTER_ASSIGN(const std::vector<float> weights, run.weights(entry.first));
    executor.load(weights);
    answer(executor, rows.samples, entry.second, result);
  }
  if (rows.has_labels && count > 0) {
    std::size_t correct = 0;
    for (std::size_t i = 0; i < count; ++i) {
      correct += static_cast<std::uint32_t>(rows.samples.labels[i]) == result.predicted[i] ? 1 : 0;
    }
    result.accuracy = static_cast<double>(correct) / static_cast<double>(count);
  }
  return result;
}

std::string predictions_csv(const SavedRun& run, const PreparedRows& rows, const RowPredictions& predictions) {
  const Preparation& preparation = run.preparation();
  std::vector<std::string> classes;
  for (const std::string& name : preparation.classes) classes.push_back(csv_cell(name));
  std::string text = "line";
  if (!rows.clients.empty()) text += "," + csv_cell(preparation.client.empty() ? "client" : preparation.client);
  if (rows.has_labels) text += "," + csv_cell(preparation.label.empty() ? "label" : preparation.label);
  text += ",predicted";
  for (const std::string& name : preparation.classes) text += "," + csv_cell("p:" + name);
  text += '\n';
  auto out = std::back_inserter(text);
  for (std::size_t row = 0; row < predictions.predicted.size(); ++row) {
    fmt::format_to(out, "{}", rows.lines[row]);
    if (!rows.clients.empty()) text += "," + csv_cell(rows.clients[row]);
    if (rows.has_labels) text += "," + classes[static_cast<std::size_t>(rows.samples.labels[row])];
    text += "," + classes[predictions.predicted[row]];
    for (std::uint32_t c = 0; c < predictions.classes; ++c) {
      fmt::format_to(out, ",{:.6g}", predictions.probabilities[row * predictions.classes + c]);
    }
    text += '\n';
  }
  return text;
}

}  // namespace muster
