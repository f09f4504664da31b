// The server of FedDyn: h <- h - alpha / m * sum(update) over the m clients of the federation,
// model <- mean(models) - h / alpha.
#include "aggregate/aggregator.h"

namespace muster {
namespace {

class DynamicServer final : public Aggregator {
 public:
  explicit DynamicServer(const AggregatorSizes& sizes) : sizes_(sizes), correction_(sizes.parameters, 0.0) {}

  void begin(std::span<const float>) override { mean_.reset(sizes_.size); }
  void add(const GroupUpdate& update) override {
    if (!update.members.empty()) mean_.add(update.model, 1.0);
  }
  void finish(std::span<float> model) override {
    if (mean_.weight() <= 0) return;
    for (std::size_t i = 0; i < sizes_.size; ++i) {
      const double mean = mean_.mean(i);
      if (i >= sizes_.parameters) {
        model[i] = static_cast<float>(mean);
        continue;
      }
      correction_[i] -= sizes_.alpha / sizes_.clients * mean_.weight() * (mean - model[i]);
      model[i] = static_cast<float>(mean - correction_[i] / sizes_.alpha);
    }
  }

  std::map<std::string, std::vector<double>> save() const override { return {{"correction", correction_}}; }
  Status restore(const std::map<std::string, std::vector<double>>& state) override {
    const auto correction = state.find("correction");
    if (correction == state.end() || correction->second.size() != sizes_.parameters) {
      return failure("checkpoint does not hold the server's correction");
    }
    correction_ = correction->second;
    return {};
  }

 private:
  AggregatorSizes sizes_;
  WeightedMean mean_;
  std::vector<double> correction_;
};

}  // namespace

std::unique_ptr<Aggregator> make_dynamic_server(const AggregatorSizes& sizes) {
  return std::make_unique<DynamicServer>(sizes);
}

}  // namespace muster
