// The mean of the groups' models, weighted by how near each is to their plain mean (Yeganeh et al. 2020, IDA):
//   a_k = 1 / (|w_k - mean| + epsilon),   w <- sum a_k w_k / sum a_k.
// Distances are of the trained parameters; running statistics are averaged plainly. All models of a round are kept
// until the last one is there.
#include <cmath>

#include "aggregate/aggregator.h"
#include "base/check.h"

namespace muster {
namespace {

// Identical models are at distance 0, and count alike.
constexpr double kEpsilon = 1e-10;

class InverseDistance final : public Aggregator {
 public:
  InverseDistance(ModelNorm norm, const AggregatorSizes& sizes) : norm_(norm), sizes_(sizes) {}

  void begin(std::span<const float>) override {
    models_.clear();
    mean_.reset(sizes_.size);
  }
  void add(const GroupUpdate& update) override {
    if (update.members.empty()) return;
    MUSTER_CHECK(update.model.size() == sizes_.size, "{} != {}", update.model.size(), sizes_.size);
    models_.push_back(update.model);
    mean_.add(update.model, 1.0);
  }
  void finish(std::span<float> model) override {
    if (models_.empty()) return;
    WeightedMean weighted;
    weighted.reset(sizes_.parameters);
    for (const std::vector<float>& sent : models_) {
      weighted.add(std::span(sent).first(sizes_.parameters), 1 / (distance(sent) + kEpsilon));
    }
    mean_.store(model);
    weighted.store(model.first(sizes_.parameters));
    models_.clear();
  }

 private:
  [[nodiscard]] double distance(const std::vector<float>& sent) const {
    double sum = 0;
    for (std::size_t i = 0; i < sizes_.parameters; ++i) {
      const double difference = double{sent[i]} - mean_.mean(i);
      sum += norm_ == ModelNorm::kL1 ? std::abs(difference) : difference * difference;
    }
    return norm_ == ModelNorm::kL1 ? sum : std::sqrt(sum);
  }

  ModelNorm norm_;
  AggregatorSizes sizes_;
  std::vector<std::vector<float>> models_;
  WeightedMean mean_;
};

}  // namespace

std::unique_ptr<Aggregator> make_inverse_distance(ModelNorm norm, const AggregatorSizes& sizes) {
  return std::make_unique<InverseDistance>(norm, sizes);
}

}  // namespace muster
