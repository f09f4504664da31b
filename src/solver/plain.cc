// The client's own loss and nothing else.
#include "solver/objective.h"

namespace muster {
namespace {

class Plain final : public Objective {
 public:
  void begin(const ObjectiveInput&, ObjectiveTerm& term) const override {
    term.pull = 0;
    term.has_drift = false;
  }
};

}  // namespace

std::unique_ptr<Objective> make_plain() {
  return std::make_unique<Plain>();
}

}  // namespace muster
