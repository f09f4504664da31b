// Of each parameter the median of the models, so that less than half of them cannot move it beyond what the others say
// (Yin et al. 2018). Nobody is left out as a whole.
#include <algorithm>

#include "aggregate/merge_rule.h"

namespace muster {
namespace {

class Median final : public MergeRule {
 public:
  MergeReport merge(const MergeInput& input, std::span<float> merged) const override {
    const std::uint32_t count = input.models.count();
    std::vector<float> values(count);
    const auto middle = values.begin() + count / 2;
    for (std::size_t c = 0; c < merged.size(); ++c) {
      for (std::uint32_t i = 0; i < count; ++i) values[i] = input.models.row(i)[c];
      std::ranges::nth_element(values, middle);
      const float below = count % 2 == 1 ? *middle : *std::max_element(values.begin(), middle);
      merged[c] = static_cast<float>((double{below} + *middle) / 2);
    }
    return {};
  }
};

}  // namespace

std::unique_ptr<MergeRule> make_median() {
  return std::make_unique<Median>();
}

}  // namespace muster
