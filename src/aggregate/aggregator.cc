#include "aggregate/aggregator.h"

namespace muster {

void WeightedMean::reset(std::size_t size) {
  sum_.assign(size, 0.0);
  weight_ = 0;
}

void WeightedMean::add(std::span<const float> values, double weight) {
  MUSTER_CHECK(values.size() == sum_.size(), "{} != {}", values.size(), sum_.size());
  double* const sum = sum_.data();
  for (std::size_t i = 0; i < values.size(); ++i) sum[i] += weight * values[i];
  weight_ += weight;
}

void WeightedMean::store(std::span<float> out) const {
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<float>(mean(i));
}

}  // namespace muster
