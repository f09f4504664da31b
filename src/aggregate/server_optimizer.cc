// Adaptive server steps (Reddi et al.): the samples-weighted mean update delta drives Adagrad, Adam or Yogi on the
// server, without bias correction:
//   m <- beta1 m + (1 - beta1) delta;   w <- w + rate * m / (sqrt(v) + tau)
//   v: adagrad v + delta^2;  adam beta2 v + (1 - beta2) delta^2;  yogi v - (1 - beta2) delta^2 sign(v - delta^2)
#include <cmath>

#include "aggregate/aggregator.h"

namespace muster {
namespace {

class ServerOptimizer final : public Aggregator {
 public:
  ServerOptimizer(ServerRule rule, const AggregationOptions& options, const AggregatorSizes& sizes)
      : rule_(rule),
        options_(options),
        parameters_(sizes.parameters),
        size_(sizes.size),
        momentum_(sizes.parameters, 0.0),
        variance_(sizes.parameters, options.tau * options.tau) {}

  void begin(std::span<const float>) override { mean_.reset(size_); }
  void add(const GroupUpdate& update) override {
    if (!update.members.empty()) mean_.add(update.model, static_cast<double>(update.samples));
  }
  void finish(std::span<float> model) override {
    if (mean_.weight() <= 0) return;
    for (std::size_t i = 0; i < parameters_; ++i) {
      const double delta = mean_.mean(i) - model[i];
      const double square = delta * delta;
      momentum_[i] = options_.beta1 * momentum_[i] + (1 - options_.beta1) * delta;
      double& v = variance_[i];
      switch (rule_) {
        case ServerRule::kAdagrad:
          v += square;
          break;
        case ServerRule::kAdam:
          v = options_.beta2 * v + (1 - options_.beta2) * square;
          break;
        case ServerRule::kYogi:
          v -= (1 - options_.beta2) * square * (v > square ? 1.0 : v < square ? -1.0 : 0.0);
          break;
      }
      model[i] =
          static_cast<float>(model[i] + options_.server_learning_rate * momentum_[i] / (std::sqrt(v) + options_.tau));
    }
    for (std::size_t i = parameters_; i < size_; ++i) model[i] = static_cast<float>(mean_.mean(i));
  }

  std::map<std::string, std::vector<double>> save() const override {
    return {{"momentum", momentum_}, {"variance", variance_}};
  }
  Status restore(const std::map<std::string, std::vector<double>>& state) override {
    const auto m = state.find("momentum");
    const auto v = state.find("variance");
    if (m == state.end() || v == state.end() || m->second.size() != parameters_ || v->second.size() != parameters_) {
      return failure("checkpoint does not hold the server optimiser's state");
    }
    momentum_ = m->second;
    variance_ = v->second;
    return {};
  }

 private:
  ServerRule rule_;
  AggregationOptions options_;
  std::size_t parameters_;
  std::size_t size_;
  WeightedMean mean_;
  std::vector<double> momentum_;
  std::vector<double> variance_;
};

}  // namespace

std::unique_ptr<Aggregator> make_server_optimizer(ServerRule rule, const AggregationOptions& options,
                                                  const AggregatorSizes& sizes) {
  return std::make_unique<ServerOptimizer>(rule, options, sizes);
}

}  // namespace muster
