// Proximal objective (FedProx): + mu/2 * |w - received|^2, so the gradient gains mu * w - mu * received.
#include "solver/objective.h"

namespace muster {
namespace {

class Prox final : public Objective {
 public:
  explicit Prox(double mu) : mu_(static_cast<float>(mu)) {}

  bool takes_partial_work() const override { return true; }
  void begin(const ObjectiveInput& input, ObjectiveTerm& term) const override {
    term.pull = mu_;
    term.has_drift = mu_ != 0;  // mu = 0 is the plain objective, bit for bit
    if (!term.has_drift) return;
    term.drift.resize(input.received.size());
    for (std::size_t i = 0; i < term.drift.size(); ++i) term.drift[i] = mu_ * input.received[i];
  }

 private:
  float mu_;
};

}  // namespace

std::unique_ptr<Objective> make_prox(double mu) {
  return std::make_unique<Prox>(mu);
}

}  // namespace muster
