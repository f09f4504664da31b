// Dynamic regularisation (FedDyn): minimises L - <g, w> + alpha/2 * |w - received|^2, so the gradient gains
// alpha * w - (g + alpha * received); afterwards g <- g - alpha * (trained - received).
#include "solver/objective.h"

namespace muster {
namespace {

class Dynamic final : public Objective {
 public:
  explicit Dynamic(double alpha) : alpha_(static_cast<float>(alpha)) {}

  bool has_state() const override { return true; }

  void begin(const ObjectiveInput& input, ObjectiveTerm& term) const override {
    term.pull = alpha_;
    term.has_drift = true;
    term.drift.resize(input.received.size());
    for (std::size_t i = 0; i < term.drift.size(); ++i) {
      term.drift[i] = (input.state.empty() ? 0.0f : input.state[i]) + alpha_ * input.received[i];
    }
  }

  void end(const ObjectiveInput& input, const ObjectiveOutcome& outcome, std::span<float> next_state,
           std::span<float>) const override {
    for (std::size_t i = 0; i < next_state.size(); ++i) {
      const float old = input.state.empty() ? 0.0f : input.state[i];
      next_state[i] = old - alpha_ * (outcome.trained[i] - input.received[i]);
    }
  }

 private:
  float alpha_;
};

}  // namespace

std::unique_ptr<Objective> make_dynamic(double alpha) {
  return std::make_unique<Dynamic>(alpha);
}

}  // namespace muster
