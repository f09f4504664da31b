// The mean of the members' models, by samples or plain, summed as they come: nothing is kept but the sum.
#include "aggregate/aggregator.h"
#include "aggregate/member_merge.h"

namespace muster {
namespace {

class MemberMean final : public MemberMerge {
 public:
  explicit MemberMean(bool by_samples) : by_samples_(by_samples) {}

  void begin(const MemberMergeCall& call) override { mean_.reset(call.start.size()); }
  void add(ClientId, std::span<const float> model, std::uint64_t samples) override {
    mean_.add(model, by_samples_ ? static_cast<double>(samples) : 1.0);
  }
  MergeReport finish(std::span<float> model) override {
    mean_.store(model);
    return {};
  }

 private:
  bool by_samples_;
  WeightedMean mean_;
};

}  // namespace

std::unique_ptr<MemberMerge> make_member_mean(bool by_samples) {
  return std::make_unique<MemberMean>(by_samples);
}

}  // namespace muster
