#include "solver/predictions.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace muster {

void Predictions::append(const Predictions& more) {
  counts.insert(counts.end(), more.counts.begin(), more.counts.end());
  negative_scores.insert(negative_scores.end(), more.negative_scores.begin(), more.negative_scores.end());
  positive_scores.insert(positive_scores.end(), more.positive_scores.begin(), more.positive_scores.end());
}

std::uint32_t predicted_class(std::span<const float> outputs, std::uint32_t classes) {
  if (outputs.size() == 1) {
    if (std::isnan(outputs[0])) return classes;
    return outputs[0] > 0 ? 1 : 0;
  }
  std::uint32_t best = classes;
  for (std::uint32_t c = 0; c < outputs.size(); ++c) {
    if (!std::isnan(outputs[c]) && (best == classes || outputs[c] > outputs[best])) best = c;
  }
  return best;
}

void PredictionCounter::add(std::span<const float> outputs, std::size_t width, std::span<const std::int32_t> labels) {
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const std::span<const float> row = outputs.subspan(i * width, width);
    const auto label = static_cast<std::uint32_t>(labels[i]);
    if (details_.predictions) {
      pairs_.push_back(std::uint64_t{label} * (classes_ + 1) + predicted_class(row, classes_));
    }
    if (details_.scores) {
      (label == 0 ? told_.negative_scores : told_.positive_scores).push_back(width == 1 ? row[0] : row[1] - row[0]);
    }
  }
}

Predictions PredictionCounter::finish() && {
  std::ranges::sort(pairs_);
  for (std::size_t at = 0; at < pairs_.size();) {
    const std::uint64_t pair = pairs_[at];
    std::size_t end = at;
    while (end < pairs_.size() && pairs_[end] == pair) ++end;
    told_.counts.push_back({.label = static_cast<std::uint32_t>(pair / (classes_ + 1)),
                            .predicted = static_cast<std::uint32_t>(pair % (classes_ + 1)),
                            .samples = end - at});
    at = end;
  }
  return std::move(told_);
}

}  // namespace muster
