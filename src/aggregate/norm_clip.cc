// The mean of the changes, each shortened to a given length, or where none is given to the median of their lengths (Sun
// et al. 2019): nobody is left out, and nobody counts for much more than the others.
#include <algorithm>
#include <optional>

#include "aggregate/aggregator.h"
#include "aggregate/merge_rule.h"

namespace muster {
namespace {

class NormClip final : public MergeRule {
 public:
  explicit NormClip(std::optional<double> clip) : clip_(clip) {}

  MergeReport merge(const MergeInput& input, std::span<float> merged) const override {
    const std::vector<double> lengths = change_lengths(input);
    const double most = clip_ ? *clip_ : median_of(lengths);
    MergeReport report;
    std::vector<double> factors(lengths.size(), 1.0);
    for (std::uint32_t i = 0; i < lengths.size(); ++i) {
      if (lengths[i] <= most) continue;
      factors[i] = most / lengths[i];
      report.clipped.push_back(i);
    }
    // At a length of 0 everybody is clipped to nothing, which is no reason to be left out of the mean.
    if (most > 0) {
      add_mean_change(input, factors, merged);
    } else {
      std::ranges::copy(input.start, merged.begin());
    }
    return report;
  }

 private:
  std::optional<double> clip_;
};

}  // namespace

std::unique_ptr<MergeRule> make_norm_clip(const AggregationOptions& options) {
  return std::make_unique<NormClip>(options.clip);
}

}  // namespace muster
