// Of each parameter the mean of what is left when the k largest and the k smallest values are taken away (Yin et al.
// 2018), k = floor(trim * models). With so few models that k is 0 it is the plain mean, and the report says so.
#include <algorithm>
#include <cmath>

#include "aggregate/aggregator.h"
#include "aggregate/merge_rule.h"

namespace muster {
namespace {

class TrimmedMean final : public MergeRule {
 public:
  explicit TrimmedMean(double trim) : trim_(trim) {}

  MergeReport merge(const MergeInput& input, std::span<float> merged) const override {
    const std::uint32_t count = input.models.count();
    const auto cut = static_cast<std::ptrdiff_t>(std::floor(trim_ * count));
    std::vector<float> values(count);
    const std::ptrdiff_t left = count - 2 * cut;
    for (std::size_t c = 0; c < merged.size(); ++c) {
      for (std::uint32_t i = 0; i < count; ++i) values[i] = input.models.row(i)[c];
      // In ascending order, so that equal models in another order have the same sum.
      std::ranges::sort(values);
      double sum = 0;
      for (std::ptrdiff_t i = cut; i < cut + left; ++i) sum += values[static_cast<std::size_t>(i)];
      merged[c] = static_cast<float>(sum / static_cast<double>(left));
    }
    return {.filtered = {}, .clipped = {}, .fell_back = cut == 0};
  }

 private:
  double trim_;
};

}  // namespace

std::unique_ptr<MergeRule> make_trimmed_mean(const AggregationOptions& options) {
  return std::make_unique<TrimmedMean>(options.trim);
}

}  // namespace muster
