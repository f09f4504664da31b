// Predictions: what a model took samples for, beyond how often it was right. Outputs and labels of batches -> counts of
// (true class, predicted class), and for two classes how much each sample looked like the second one.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace muster {

// What is asked for besides an evaluation's sums.
struct Details {
  bool predictions = false;  // how often which class was taken for which
  bool scores = false;       // of each sample; for two classes only
  [[nodiscard]] bool any() const { return predictions || scores; }
};

// So many samples of class `label` were taken for class `predicted`. The number of classes in its place means that the
// outputs were not numbers, and nothing was predicted.
struct PredictionCount {
  std::uint32_t label = 0;
  std::uint32_t predicted = 0;
  std::uint64_t samples = 0;
  bool operator==(const PredictionCount&) const = default;
};

struct Predictions {
  std::vector<PredictionCount> counts;  // of one client: each pair once; joined ones may repeat pairs
  // Output of the second class less that of the first: of samples of the first class, and of the second.
  std::vector<float> negative_scores;
  std::vector<float> positive_scores;

  void append(const Predictions& more);
};

// The class that the outputs stand for: the first of the largest; with a single output its sign. `classes` if none of
// them is a number. A sample counts as correct exactly where this is its label.
[[nodiscard]] std::uint32_t predicted_class(std::span<const float> outputs, std::uint32_t classes);

// Counts batches. Precondition of scores: two classes.
class PredictionCounter {
 public:
  PredictionCounter(const Details& details, std::uint32_t classes) : details_(details), classes_(classes) {}

  // A row of `width` outputs per label.
  void add(std::span<const float> outputs, std::size_t width, std::span<const std::int32_t> labels);
  // Counts are in the order of (label, predicted), scores in that of the samples.
  [[nodiscard]] Predictions finish() &&;

 private:
  Details details_;
  std::uint32_t classes_;
  std::vector<std::uint64_t> pairs_;  // label * (classes + 1) + predicted, of each sample
  Predictions told_;
};

}  // namespace muster
