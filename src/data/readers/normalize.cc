#include "data/readers/normalize.h"

#include <cmath>
#include <vector>

namespace muster {
namespace {

// Sums in row order, two passes: the first for the mean, the second for squares about it, which cannot cancel.
template <typename T>
void find_moments(const std::vector<T>& values, std::size_t slots, std::vector<double>& mean,
                  std::vector<double>& deviation) {
  const double per_slot = static_cast<double>(values.size() / slots);
  mean.assign(slots, 0);
  deviation.assign(slots, 0);
  for (std::size_t i = 0; i < values.size(); i += slots) {
    for (std::size_t s = 0; s < slots; ++s) mean[s] += static_cast<double>(values[i + s]);
  }
  for (double& m : mean) m /= per_slot;
  for (std::size_t i = 0; i < values.size(); i += slots) {
    for (std::size_t s = 0; s < slots; ++s) {
      const double distance = static_cast<double>(values[i + s]) - mean[s];
      deviation[s] += distance * distance;
    }
  }
  for (double& d : deviation) d = std::sqrt(d / per_slot);
}

}  // namespace

void normalize(RawData& data, NormalizePer per, double epsilon) {
  Samples& train = data.train;
  if (train.storage == Samples::Storage::kTokens || train.size() == 0) return;
  // Channels are stored fastest, so both kinds are a fixed stride through the values.
  const std::size_t slots = per == NormalizePer::kFeature ? train.shape.size() : train.shape.channels;
  std::vector<double> mean;
  std::vector<double> deviation;
  if (train.storage == Samples::Storage::kBytes) {
    find_moments(train.bytes, slots, mean, deviation);
  } else {
    find_moments(train.floats, slots, mean, deviation);
  }
  train.scale.assign(slots, 0.0f);
  train.offset.assign(slots, 0.0f);
  for (std::size_t s = 0; s < slots; ++s) {
    // Rounding leaves a constant column of large numbers with a deviation of this order instead of 0.
    if (deviation[s] <= 1e-12 * std::abs(mean[s])) continue;
    train.scale[s] = static_cast<float>(1 / (deviation[s] + epsilon));
    train.offset[s] = static_cast<float>(-mean[s] / (deviation[s] + epsilon));
  }
  data.test.scale = train.scale;
  data.test.offset = train.offset;
}

NormalizePer normalize_default(const Shape& shape) {
  return shape.height == 1 && shape.width == 1 ? NormalizePer::kFeature : NormalizePer::kChannel;
}

}  // namespace muster
