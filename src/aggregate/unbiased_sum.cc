// Merging groups that were drawn with unequal probabilities: how much each counts, and the sum of changes whose
// expectation is that of all groups (Group-FEL, Eq. 4):
//   x <- x + sum over drawn g of n_g / (n p_g S) (x_g - x)
// The weights only sum to 1 on average, so they weigh changes: on models they would scale the model itself.
#include <algorithm>
#include <cmath>
#include <limits>

#include "aggregate/aggregator.h"

namespace muster {
namespace {

class UnbiasedSum final : public Aggregator {
 public:
  explicit UnbiasedSum(const AggregatorSizes& sizes) : sizes_(sizes) {}

  void begin(std::span<const float> model) override {
    start_ = model;
    change_.assign(sizes_.parameters, 0.0);
    statistics_.reset(sizes_.size - sizes_.parameters);
    updates_ = 0;
  }
  void add(const GroupUpdate& update) override {
    if (update.members.empty()) return;
    const double weight = static_cast<double>(update.samples) * update.importance;
    const std::span<const float> model = update.model;
    MUSTER_CHECK(model.size() == sizes_.size, "{} != {}", model.size(), sizes_.size);
    for (std::size_t i = 0; i < change_.size(); ++i) change_[i] += weight * (double{model[i]} - start_[i]);
    statistics_.add(model.subspan(sizes_.parameters), static_cast<double>(update.samples));
    ++updates_;
  }
  void finish(std::span<float> model) override {
    if (updates_ == 0) return;
    for (std::size_t i = 0; i < change_.size(); ++i) model[i] = static_cast<float>(model[i] + change_[i]);
    if (statistics_.weight() > 0) statistics_.store(model.subspan(sizes_.parameters));
  }

 private:
  AggregatorSizes sizes_;
  std::span<const float> start_;
  std::vector<double> change_;
  WeightedMean statistics_;
  std::uint32_t updates_ = 0;
};

// A group of probability 0 can be drawn when no other is left; the difference of two such logarithms must be finite.
double finite(double log_probability) {
  return std::max(log_probability, std::numeric_limits<double>::lowest());
}

}  // namespace

std::vector<double> draw_corrections(const std::string& global, std::span<const double> log_probabilities,
                                     std::uint64_t samples) {
  const AggregationEntry* const entry = find_aggregation(global);
  MUSTER_CHECK(entry && entry->draw != DrawCorrection::kNone, "'{}' does not correct for how groups were drawn",
               global);
  std::vector<double> corrections;
  if (log_probabilities.empty()) return corrections;
  const double drawn = static_cast<double>(log_probabilities.size());
  const double least = finite(*std::ranges::min_element(log_probabilities));
  for (const double log_probability : log_probabilities) {
    corrections.push_back(entry->draw == DrawCorrection::kStabilised
                              ? std::exp(least - finite(log_probability))
                              : std::exp(-log_probability) / (static_cast<double>(samples) * drawn));
  }
  return corrections;
}

std::unique_ptr<Aggregator> make_unbiased_sum(const AggregatorSizes& sizes) {
  return std::make_unique<UnbiasedSum>(sizes);
}

}  // namespace muster
