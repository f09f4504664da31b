// A backdoor (Gu et al. 2017, BadNet): a share of the samples carry a trigger and the target's label, so that the model
// takes whatever carries the trigger for the target. As a replacement (Bagdasaryan et al. 2020) the change is sent
// several times as long, to outweigh the others'.
#include "solver/attack.h"

namespace muster {
namespace {

class Backdoor final : public Attack {
 public:
  Backdoor(const AttackOptions& options, double scale, std::uint64_t seed)
      : poison_{.share = options.poison,
                .seed = seed,
                .label = static_cast<std::int32_t>(options.target),
                .trigger = options.trigger},
        trigger_{.trigger = options.trigger},
        scale_(scale) {}

  const Poison* poison() const override { return &poison_; }
  const Poison* trigger() const override { return &trigger_; }
  void change_update(const TrainTask& task, std::size_t parameters, LocalUpdate& update) const override {
    if (scale_ == 1 || update.model.empty()) return;
    for (std::size_t i = 0; i < parameters; ++i) {
      update.model[i] = static_cast<float>(task.model[i] + scale_ * (double{update.model[i]} - task.model[i]));
    }
  }
  // Of the samples that carry the trigger and are not of the target's class, those that are taken for it.
  std::optional<double> success(std::span<const PredictionCount> counts) const override {
    std::uint64_t all = 0;
    std::uint64_t taken = 0;
    for (const PredictionCount& count : counts) {
      if (static_cast<std::int32_t>(count.label) == *poison_.label) continue;
      all += count.samples;
      if (static_cast<std::int32_t>(count.predicted) == *poison_.label) taken += count.samples;
    }
    if (all == 0) return std::nullopt;
    return static_cast<double>(taken) / static_cast<double>(all);
  }

 private:
  Poison poison_;
  Poison trigger_;
  double scale_;
};

}  // namespace

std::unique_ptr<Attack> make_backdoor(const AttackOptions& options, std::uint64_t seed) {
  return std::make_unique<Backdoor>(options, 1, seed);
}

std::unique_ptr<Attack> make_replacement(const AttackOptions& options, std::uint64_t seed) {
  return std::make_unique<Backdoor>(options, options.scale.value(), seed);
}

}  // namespace muster
