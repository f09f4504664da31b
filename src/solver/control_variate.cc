// Control variates (SCAFFOLD): the gradient gains c - c_i. The client's next control is the full gradient at the
// received model (option I) or c_i - c + (received - trained) / (steps * learning rate) (option II); the payload is its
// change.
#include "solver/objective.h"

namespace muster {
namespace {

float at(std::span<const float> values, std::size_t i) {
  return values.empty() ? 0.0f : values[i];
}

class ControlVariate final : public Objective {
 public:
  explicit ControlVariate(bool from_gradient) : from_gradient_(from_gradient) {}

  bool has_state() const override { return true; }
  bool has_payload() const override { return true; }
  bool wants_full_gradient() const override { return from_gradient_; }

  void begin(const ObjectiveInput& input, ObjectiveTerm& term) const override {
    term.pull = 0;
    // Both controls still zero: the first round is uniform averaging, bit for bit.
    term.has_drift = !input.state.empty() || !input.broadcast.empty();
    if (!term.has_drift) return;
    term.drift.resize(input.received.size());
    for (std::size_t i = 0; i < term.drift.size(); ++i) term.drift[i] = at(input.state, i) - at(input.broadcast, i);
  }

  void end(const ObjectiveInput& input, const ObjectiveOutcome& outcome, std::span<float> next_state,
           std::span<float> payload) const override {
    const double scale = 1.0 / (static_cast<double>(outcome.steps) * outcome.learning_rate);
    for (std::size_t i = 0; i < next_state.size(); ++i) {
      const float old = at(input.state, i);
      next_state[i] = from_gradient_ ? outcome.full_gradient[i]
                                     : static_cast<float>(old - at(input.broadcast, i) +
                                                          (double{input.received[i]} - outcome.trained[i]) * scale);
      payload[i] = next_state[i] - old;
    }
  }

 private:
  bool from_gradient_;
};

}  // namespace

std::unique_ptr<Objective> make_control_variate(bool from_gradient) {
  return std::make_unique<ControlVariate>(from_gradient);
}

}  // namespace muster
