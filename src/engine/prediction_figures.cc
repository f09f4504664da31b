#include "engine/prediction_figures.h"

#include <algorithm>
#include <cmath>

#include "recipe/choices.h"

namespace muster {
namespace {

std::optional<double> share(std::uint64_t part, std::uint64_t whole) {
  if (whole == 0) return std::nullopt;
  return static_cast<double>(part) / static_cast<double>(whole);
}

}  // namespace

PredictionTally::PredictionTally(std::uint32_t classes) : classes_(classes) {
  if (classes <= kMostConfusedClasses) confusion_.assign(classes, std::vector<std::uint64_t>(classes, 0));
}

void PredictionTally::add(const Predictions& told) {
  for (const PredictionCount& count : told.counts) {
    classes_[count.label].samples += count.samples;
    if (count.predicted == classes_.size()) continue;
    classes_[count.predicted].predicted += count.samples;
    if (count.predicted == count.label) classes_[count.label].hits += count.samples;
    if (!confusion_.empty()) confusion_[count.label][count.predicted] += count.samples;
  }
  negative_scores_.insert(negative_scores_.end(), told.negative_scores.begin(), told.negative_scores.end());
  positive_scores_.insert(positive_scores_.end(), told.positive_scores.begin(), told.positive_scores.end());
}

std::optional<double> PredictionTally::f1(const OfClass& c) {
  return share(2 * c.hits, c.samples + c.predicted);
}

std::optional<double> PredictionTally::macro_f1() const {
  double sum = 0;
  std::uint32_t counted = 0;
  for (const OfClass& c : classes_) {
    const std::optional<double> own = f1(c);
    if (!own) continue;
    sum += *own;
    ++counted;
  }
  if (counted == 0) return std::nullopt;
  return sum / counted;
}

std::optional<double> PredictionTally::auc() const {
  return area_under_curve(negative_scores_, positive_scores_);
}

std::vector<ClassFigures> PredictionTally::classes(const Roster& roster) const {
  std::vector<ClassFigures> figures;
  if (classes_.size() > kMostListedClasses) return figures;
  for (std::uint32_t label = 0; label < classes_.size(); ++label) {
    const OfClass& c = classes_[label];
    figures.push_back({.name = roster.class_name(label),
                       .precision = share(c.hits, c.predicted),
                       .recall = share(c.hits, c.samples),
                       .f1 = f1(c),
                       .samples = c.samples});
  }
  return figures;
}

std::optional<double> area_under_curve(std::vector<float> negatives, std::vector<float> positives) {
  const auto unusable = [](float score) { return std::isnan(score); };
  if (negatives.empty() || positives.empty()) return std::nullopt;
  if (std::ranges::any_of(negatives, unusable) || std::ranges::any_of(positives, unusable)) return std::nullopt;
  std::ranges::sort(negatives);
  std::ranges::sort(positives);
  // Twice the number of pairs won, so that a tie is a whole number. At most 2 * 5e6 * 5e6 with kMostScores.
  std::uint64_t won_twice = 0;
  std::size_t below = 0;  // negatives with a lower score
  std::size_t up_to = 0;  // negatives with a lower or equal one
  for (const float score : positives) {
    while (below < negatives.size() && negatives[below] < score) ++below;
    while (up_to < negatives.size() && negatives[up_to] <= score) ++up_to;
    won_twice += below + up_to;
  }
  return static_cast<double>(won_twice) /
         (2.0 * static_cast<double>(negatives.size()) * static_cast<double>(positives.size()));
}

}  // namespace muster
