// A rule that sees all models at once, as an aggregation of groups: every group counts once. All models of a round are
// kept until the last one is there.
#include "aggregate/aggregator.h"
#include "aggregate/merge_rule.h"
#include "base/check.h"

namespace muster {
namespace {

class RuleAggregator final : public Aggregator {
 public:
  RuleAggregator(std::unique_ptr<MergeRule> rule, const AggregatorSizes& sizes)
      : rule_(std::move(rule)), sizes_(sizes) {}

  void begin(std::span<const float> model) override {
    start_ = model;
    held_.begin(sizes_.parameters);
    report_ = {};
    ++merges_;
  }
  void add(const GroupUpdate& update) override {
    if (update.members.empty()) return;
    MUSTER_CHECK(update.model.size() == sizes_.size, "{} != {}", update.model.size(), sizes_.size);
    held_.add(update.model);
  }
  void finish(std::span<float> model) override {
    if (held_.count() == 0) return;
    // `model` is where the groups started, and rules read that while they write.
    std::vector<float> merged(sizes_.size);
    report_ = held_.merge(*rule_, start_, {.seed = sizes_.seed, .purpose = Purpose::kNoise, .round = merges_}, merged);
    std::ranges::copy(merged, model.begin());
  }
  const MergeReport* report() const override { return &report_; }

  std::map<std::string, std::vector<double>> save() const override {
    return {{"merges", {static_cast<double>(merges_)}}};
  }
  Status restore(const std::map<std::string, std::vector<double>>& state) override {
    const auto merges = state.find("merges");
    const bool whole = merges != state.end() && merges->second.size() == 1 && merges->second[0] >= 0 &&
                       merges->second[0] <= 4294967295.0;
    if (!whole) return failure("checkpoint does not hold how often groups were merged");
    merges_ = static_cast<std::uint32_t>(merges->second[0]);
    return {};
  }

 private:
  std::unique_ptr<MergeRule> rule_;
  AggregatorSizes sizes_;
  std::span<const float> start_;
  HeldModels held_;
  MergeReport report_;
  std::uint32_t merges_ = 0;  // since the run began: they name the noise
};

}  // namespace

std::unique_ptr<Aggregator> make_rule_aggregator(std::unique_ptr<MergeRule> rule, const AggregatorSizes& sizes) {
  return std::make_unique<RuleAggregator>(std::move(rule), sizes);
}

}  // namespace muster
