// Fused features (FedFusion): the client's own loss, of a network that joins its features with those of the extractor
// it received.
#include "solver/objective.h"

namespace muster {
namespace {

class FusedFeatures final : public Objective {
 public:
  void begin(const ObjectiveInput&, ObjectiveTerm& term) const override {
    term.pull = 0;
    term.has_drift = false;
  }
};

}  // namespace

std::unique_ptr<Objective> make_fusion_objective() {
  return std::make_unique<FusedFeatures>();
}

std::optional<Fusion> fusion_of(const ObjectiveOptions& options) {
  if (options.name != "fusion") return std::nullopt;
  if (options.fusion == "multi") return Fusion::kMulti;
  return options.fusion == "single" ? Fusion::kSingle : Fusion::kConv;
}

}  // namespace muster
