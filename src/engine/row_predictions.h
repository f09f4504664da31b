// What a run's models say about rows of a file: a class and the probability of each.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "data/prepared_rows.h"
#include "engine/saved_run.h"

namespace muster {

// Who answers for the rows. Neither is set: the run's one model or, where it has several, the model of each row's
// client.
struct PredictionOptions {
  std::optional<std::uint32_t> group;
  std::string client;  // name or number; "" = not set
};

struct RowPredictions {
  std::uint32_t classes = 0;
  std::vector<std::uint32_t> predicted;  // a class for each row, the lowest of equals
  std::vector<float> probabilities;      // rows x classes
  std::optional<double> accuracy;        // where the rows have labels
};

// Fails, naming the line, if a row's client is not one of the run's.
[[nodiscard]] Result<RowPredictions> predict(SavedRun& run, const PreparedRows& rows, const PredictionOptions& options);

// A table: line, client where there is one, the true class where it is known, the predicted class, and a column p:CLASS
// for each class.
[[nodiscard]] std::string predictions_csv(const SavedRun& run, const PreparedRows& rows,
                                          const RowPredictions& predictions);

}  // namespace muster
