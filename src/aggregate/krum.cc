// Krum (Blanchard et al. 2017): of n models with at most f attackers among them, each is scored by the sum of its
// squared distances to its n - f - 2 nearest others. krum takes the model with the least score, multi-krum the mean of
// the n - f with the least. Equal scores: whoever was added first. Scores mean something from n = 2 f + 3 on; with
// fewer models it is the median of each parameter instead, and nobody is left out.
#include <algorithm>
#include <numeric>

#include "aggregate/aggregator.h"
#include "aggregate/merge_rule.h"
#include "grouping/gram.h"

namespace muster {
namespace {

class Krum final : public MergeRule {
 public:
  Krum(Amount attackers, bool several) : attackers_(attackers), several_(several) {}

  MergeReport merge(const MergeInput& input, std::span<float> merged) const override {
    const std::uint32_t count = input.models.count();
    const std::uint32_t attackers = attackers_.of(count);
    if (count < 2 * std::uint64_t{attackers} + 3) {
      MergeReport report = make_median()->merge(input, merged);
      report.fell_back = true;
      return report;
    }
    const std::vector<double> scores = scores_of(input, count - attackers - 2);
    std::vector<std::uint32_t> order(count);
    std::iota(order.begin(), order.end(), 0u);
    std::ranges::stable_sort(order, {}, [&](std::uint32_t i) { return scores[i]; });
    const std::uint32_t taken = several_ ? count - attackers : 1;
    std::vector<double> factors(count, 0.0);
    for (std::uint32_t i = 0; i < taken; ++i) factors[order[i]] = 1;
    MergeReport report;
    for (std::uint32_t i = 0; i < count; ++i) {
      if (factors[i] == 0) report.filtered.push_back({i, FilterReason::kFar});
    }
    if (taken == 1) {
      std::ranges::copy(input.models.row(order[0]), merged.begin());
    } else {
      add_mean_change(input, factors, merged);
    }
    return report;
  }

 private:
  [[nodiscard]] static std::vector<double> scores_of(const MergeInput& input, std::uint32_t neighbours) {
    const Rows<double> distances = l2_distances(input.models);
    std::vector<double> scores;
    std::vector<double> others;
    for (std::uint32_t i = 0; i < distances.count(); ++i) {
      others.clear();
      for (std::uint32_t j = 0; j < distances.count(); ++j) {
        const double distance = distances.row(i)[j];
        if (j != i) others.push_back(distance * distance);
      }
      std::ranges::sort(others);
      scores.push_back(std::accumulate(others.begin(), others.begin() + neighbours, 0.0));
    }
    return scores;
  }

  Amount attackers_;
  bool several_;
};

}  // namespace

std::unique_ptr<MergeRule> make_krum(const AggregationOptions& options) {
  return std::make_unique<Krum>(options.attackers, false);
}

std::unique_ptr<MergeRule> make_multi_krum(const AggregationOptions& options) {
  return std::make_unique<Krum>(options.attackers, true);
}

}  // namespace muster
