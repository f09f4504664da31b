#include "aggregate/aggregator.h"

#include "base/names.h"

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

Result<std::unique_ptr<Aggregator>> make_aggregator(const AggregationOptions& options, const AggregatorSizes& sizes) {
  // Stabilised is the same mean, of groups that differ in importance.
  if (options.global == "samples-weighted" || options.global == "stabilised") return make_mean(true, sizes);
  if (options.global == "uniform") return make_mean(false, sizes);
  if (options.global == "unbiased") return make_unbiased_sum(sizes);
  if (options.global == "adagrad") return make_server_optimizer(ServerRule::kAdagrad, options, sizes);
  if (options.global == "adam") return make_server_optimizer(ServerRule::kAdam, options, sizes);
  if (options.global == "yogi") return make_server_optimizer(ServerRule::kYogi, options, sizes);
  if (options.global == "control-variate") return make_control_variate_server(options.server_learning_rate, sizes);
  if (options.global == "dynamic") return make_dynamic_server(sizes);
  const std::vector<std::string> accepted{"samples-weighted", "uniform", "unbiased", "stabilised",
                                          "adagrad",          "adam",    "yogi",     "control-variate",
                                          "dynamic",          "none"};
  return Error{ErrorCode::kUsage, "aggregation.global: " + unknown_name("aggregation", options.global, accepted)};
}

}  // namespace muster
