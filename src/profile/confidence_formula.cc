#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "profile/formulas.h"

namespace muster {
namespace {

// The probability that a row of logits gives to class `label`.
double probability(std::span<const float> logits, std::uint32_t label) {
  if (logits.size() == 1) {
    const double positive = 1 / (1 + std::exp(-double{logits[0]}));
    return label == 1 ? positive : 1 - positive;
  }
  const double largest = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (const float logit : logits) sum += std::exp(logit - largest);
  return std::exp(logits[label] - largest) / sum;
}

}  // namespace

std::vector<float> confidence_vector(const RowsView<float>& logits, std::span<const std::int32_t> labels,
                                     std::uint32_t classes, const std::string& form) {
  MUSTER_CHECK(logits.count() == labels.size(), "{} rows of logits, {} labels", logits.count(), labels.size());
  std::vector<double> q(classes);
  std::vector<double> exemplars(classes);
  for (std::uint32_t i = 0; i < labels.size(); ++i) {
    const auto label = static_cast<std::uint32_t>(labels[i]);
    MUSTER_CHECK(label < classes && (label < logits.width || logits.width == 1), "label {} of {}", label, classes);
    q[label] += probability(logits.row(i), label);
    ++exemplars[label];
  }
  if (form == "softmax") {
    // The means are at most 1, so nothing overflows.
    for (std::uint32_t c = 0; c < classes; ++c) q[c] = std::exp(exemplars[c] > 0 ? q[c] / exemplars[c] : 0);
  }
  double sum = 0;
  for (const double value : q) sum += value;
  std::vector<float> confidence(classes);
  for (std::uint32_t c = 0; c < classes; ++c) {
    confidence[c] = static_cast<float>(sum == 0 ? 1.0 / classes : q[c] / sum);
  }
  return confidence;
}

}  // namespace muster
