// The mean of the groups' models: by samples and importance (FedAvg; Group-FEL, Eq. 39) or uniform.
#include "aggregate/aggregator.h"

namespace muster {
namespace {

class Mean final : public Aggregator {
 public:
  Mean(bool by_samples, std::size_t size) : by_samples_(by_samples), size_(size) {}

  void begin(std::span<const float>) override { mean_.reset(size_); }
  void add(const GroupUpdate& update) override {
    if (update.members.empty()) return;
    mean_.add(update.model, by_samples_ ? static_cast<double>(update.samples) * update.importance : 1.0);
  }
  void finish(std::span<float> model) override {
    if (mean_.weight() > 0) mean_.store(model);
  }

 private:
  bool by_samples_;
  std::size_t size_;
  WeightedMean mean_;
};

}  // namespace

std::unique_ptr<Aggregator> make_mean(bool by_samples, const AggregatorSizes& sizes) {
  return std::make_unique<Mean>(by_samples, sizes.size);
}

}  // namespace muster
