// Instead of a change, random numbers of a given deviation are sent.
#include "base/random.h"
#include "solver/attack.h"

namespace muster {
namespace {

class NoiseAttack final : public Attack {
 public:
  NoiseAttack(double deviation, std::uint64_t seed) : deviation_(deviation), seed_(seed) {}

  void change_update(const TrainTask& task, std::size_t parameters, LocalUpdate& update) const override {
    if (update.model.empty()) return;
    // Parts 0 and 1 are those of injected faults and of the draw of who is malicious.
    Stream stream({.seed = seed_,
                   .purpose = Purpose::kFault,
                   .round = task.round,
                   .id = task.client.value,
                   .part = 2 + task.part});
    for (std::size_t i = 0; i < parameters; ++i) {
      update.model[i] = static_cast<float>(task.model[i] + deviation_ * stream.normal());
    }
  }

 private:
  double deviation_;
  std::uint64_t seed_;
};

}  // namespace

std::unique_ptr<Attack> make_noise_attack(const AttackOptions& options, std::uint64_t seed) {
  return std::make_unique<NoiseAttack>(options.noise, seed);
}

}  // namespace muster
