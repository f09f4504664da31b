// A rule that sees all models at once, among the members of a group. Memory: a model per member.
#include "aggregate/aggregator.h"
#include "aggregate/member_merge.h"
#include "aggregate/merge_rule.h"
#include "base/check.h"

namespace muster {
namespace {

class MemberRule final : public MemberMerge {
 public:
  MemberRule(std::unique_ptr<MergeRule> rule, std::uint64_t seed) : rule_(std::move(rule)), seed_(seed) {}

  void begin(const MemberMergeCall& call) override {
    call_ = call;
    held_.begin(call.parameters);
  }
  void add(ClientId, std::span<const float> model, std::uint64_t) override { held_.add(model); }
  MergeReport finish(std::span<float> model) override {
    // What is written may be what they began with.
    std::vector<float> merged(model.size());
    // Part 0 is that of a merge of groups.
    const StreamKey noise{.seed = seed_,
                          .purpose = Purpose::kNoise,
                          .round = call_.round,
                          .id = call_.group.value,
                          .part = 1 + call_.part};
    MergeReport report = held_.merge(*rule_, call_.start, noise, merged);
    std::ranges::copy(merged, model.begin());
    return report;
  }

 private:
  std::unique_ptr<MergeRule> rule_;
  std::uint64_t seed_;
  MemberMergeCall call_;
  HeldModels held_;
};

}  // namespace

std::unique_ptr<MemberMerge> make_member_rule(const std::string& rule, const AggregationOptions& options,
                                              std::uint64_t seed) {
  const MergeRuleEntry* const entry = find_merge_rule(rule);
  MUSTER_CHECK(entry, "'{}' is no rule", rule);
  return std::make_unique<MemberRule>(entry->make(options), seed);
}

}  // namespace muster
