// PredictionTally: predictions of any number of clients -> precision, recall and F1 of each class, macro-F1, the
// confusion matrix, and for two classes the area under the ROC curve. All from whole numbers, so that the order in
// which predictions come changes nothing.
#pragma once

#include <optional>
#include <vector>

#include "clients/roster.h"
#include "record/run_figures.h"
#include "solver/predictions.h"

namespace muster {

// Beyond so many classes the summary has no table of them.
inline constexpr std::uint32_t kMostListedClasses = 1000;
// Scores are kept to be sorted, four bytes each. Where there are more samples the area is not computed.
inline constexpr std::uint64_t kMostScores = 10'000'000;

class PredictionTally {
 public:
  explicit PredictionTally(std::uint32_t classes);

  // Precondition: classes are those of the tally.
  void add(const Predictions& told);

  // Mean F1 of the classes that have samples or were predicted; nothing if there is none.
  [[nodiscard]] std::optional<double> macro_f1() const;
  // Of all scores that were added, whichever model gave them; see area_under_curve().
  [[nodiscard]] std::optional<double> auc() const;
  // In their order; none if there are more than kMostListedClasses.
  [[nodiscard]] std::vector<ClassFigures> classes(const Roster& roster) const;
  // A row per true class; none if there are more than kMostConfusedClasses. A sample for which nothing was predicted is
  // in no cell.
  [[nodiscard]] const std::vector<std::vector<std::uint64_t>>& confusion() const { return confusion_; }

 private:
  struct OfClass {
    std::uint64_t hits = 0;
    std::uint64_t samples = 0;
    std::uint64_t predicted = 0;
  };
  [[nodiscard]] static std::optional<double> f1(const OfClass& c);

  std::vector<OfClass> classes_;
  std::vector<std::vector<std::uint64_t>> confusion_;
  std::vector<float> negative_scores_;
  std::vector<float> positive_scores_;
};

// The share of pairs of a negative and a positive in which the positive has the higher score; equal scores count half.
// Nothing if either is missing, or if a score is not a number.
[[nodiscard]] std::optional<double> area_under_curve(std::vector<float> negatives, std::vector<float> positives);

}  // namespace muster
