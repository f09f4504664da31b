// The change is sent the other way round, and longer where a scale says so.
#include "solver/attack.h"

namespace muster {
namespace {

class SignFlip final : public Attack {
 public:
  explicit SignFlip(double scale) : scale_(scale) {}

  void change_update(const TrainTask& task, std::size_t parameters, LocalUpdate& update) const override {
    if (update.model.empty()) return;
    for (std::size_t i = 0; i < parameters; ++i) {
      update.model[i] = static_cast<float>(task.model[i] - scale_ * (double{update.model[i]} - task.model[i]));
    }
  }

 private:
  double scale_;
};

}  // namespace

std::unique_ptr<Attack> make_sign_flip(const AttackOptions& options) {
  return std::make_unique<SignFlip>(options.scale.value());
}

}  // namespace muster
