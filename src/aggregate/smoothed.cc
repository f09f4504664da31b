// Any aggregation, with a range of the parameters that follows slowly: after a round it is
//   (1 - keep) * what the aggregation made of it + keep * what it was before
// (FedFusion's shares). Nothing else changes, and there is nothing to remember between rounds.
#include "aggregate/aggregator.h"

namespace muster {
namespace {

class Smoothed final : public Aggregator {
 public:
  Smoothed(std::unique_ptr<Aggregator> inside, const SmoothedRange& range)
      : inside_(std::move(inside)), range_(range), before_(range.size) {}

  void begin(std::span<const float> model) override {
    std::ranges::copy(model.subspan(range_.offset, range_.size), before_.begin());
    inside_->begin(model);
  }
  void add(const GroupUpdate& update) override { inside_->add(update); }
  void finish(std::span<float> model) override {
    inside_->finish(model);
    const std::span<float> now = model.subspan(range_.offset, range_.size);
    for (std::size_t i = 0; i < now.size(); ++i) {
      // In this form a value that did not change stays as it is.
      now[i] = static_cast<float>(double{now[i]} + range_.keep * (double{before_[i]} - double{now[i]}));
    }
  }
  const MergeReport* report() const override { return inside_->report(); }
  std::span<const float> broadcast() const override { return inside_->broadcast(); }
  std::map<std::string, std::vector<double>> save() const override { return inside_->save(); }
  Status restore(const std::map<std::string, std::vector<double>>& state) override { return inside_->restore(state); }

 private:
  std::unique_ptr<Aggregator> inside_;
  SmoothedRange range_;
  std::vector<float> before_;
};

}  // namespace

std::unique_ptr<Aggregator> make_smoothed(std::unique_ptr<Aggregator> inside, const SmoothedRange& range) {
  return std::make_unique<Smoothed>(std::move(inside), range);
}

}  // namespace muster
