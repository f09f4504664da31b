// Samples of a class are trained on as if they were of another.
#include "solver/attack.h"

namespace muster {
namespace {

class LabelFlip final : public Attack {
 public:
  explicit LabelFlip(const AttackOptions& options)
      : poison_{.source = static_cast<std::int32_t>(options.source),
                .label = static_cast<std::int32_t>(options.target)} {}

  const Poison* poison() const override { return &poison_; }
  // Of the source's test samples, those that are taken for the target.
  std::optional<double> success(std::span<const PredictionCount> counts) const override {
    std::uint64_t all = 0;
    std::uint64_t taken = 0;
    for (const PredictionCount& count : counts) {
      if (static_cast<std::int32_t>(count.label) != *poison_.source) continue;
      all += count.samples;
      if (static_cast<std::int32_t>(count.predicted) == *poison_.label) taken += count.samples;
    }
    if (all == 0) return std::nullopt;
    return static_cast<double>(taken) / static_cast<double>(all);
  }

 private:
  Poison poison_;
};

}  // namespace

std::unique_ptr<Attack> make_label_flip(const AttackOptions& options) {
  return std::make_unique<LabelFlip>(options);
}

}  // namespace muster
