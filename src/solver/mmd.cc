// Maximum mean discrepancy (FedMMD): + lambda * MMD^2 between the client's outputs and those of the model it received.
// lambda = 0 is the plain objective, bit for bit, and runs no second model.
#include "solver/objective.h"

namespace muster {
namespace {

class Mmd final : public Objective {
 public:
  explicit Mmd(double lambda) : lambda_(lambda) {}

  double output_match() const override { return lambda_; }
  void begin(const ObjectiveInput&, ObjectiveTerm& term) const override {
    term.pull = 0;
    term.has_drift = false;
  }

 private:
  double lambda_;
};

}  // namespace

std::unique_ptr<Objective> make_mmd(double lambda) {
  return std::make_unique<Mmd>(lambda);
}

}  // namespace muster
