#include "train/evaluation_check.h"

#include <optional>

namespace muster {
namespace {

struct CountSums {
  std::uint64_t all = 0;
  std::uint64_t hits = 0;
  std::uint64_t positives = 0;  // of the second class
};

// Nothing if a count names no class, or if together they are more than `most`.
std::optional<CountSums> sums_of(const std::vector<PredictionCount>& counts, std::uint64_t most,
                                 std::uint32_t classes) {
  CountSums sums;
  for (const PredictionCount& count : counts) {
    if (count.label >= classes || count.predicted > classes) return std::nullopt;
    if (count.samples == 0 || count.samples > most - sums.all) return std::nullopt;
    sums.all += count.samples;
    if (count.label == count.predicted) sums.hits += count.samples;
    if (count.label == 1) sums.positives += count.samples;
  }
  return sums;
}

}  // namespace

bool adds_up(const Evaluation& told, std::uint64_t samples, const Details& asked, std::uint32_t classes) {
  if (told.samples != samples || told.correct > told.samples) return false;
  if (!asked.any()) return !told.predictions;
  if (!told.predictions) return false;
  const Predictions& predictions = *told.predictions;
  const std::uint64_t positives = predictions.positive_scores.size();
  if (predictions.negative_scores.size() + positives != (asked.scores ? samples : 0)) return false;
  if (!asked.predictions) return predictions.counts.empty();
  const std::optional<CountSums> sums = sums_of(predictions.counts, samples, classes);
  if (!sums || sums->all != samples || sums->hits != told.correct) return false;
  return !asked.scores || sums->positives == positives;
}

}  // namespace muster
