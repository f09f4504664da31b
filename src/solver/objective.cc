#include "solver/objective.h"

#include "base/names.h"

namespace muster {

Result<std::unique_ptr<Objective>> make_objective(const ObjectiveOptions& options) {
  if (options.name == "plain") return make_plain();
  if (options.name == "prox") return make_prox(options.mu);
  if (options.name == "control-variate") return make_control_variate(options.control == "gradient");
  if (options.name == "dynamic") return make_dynamic(options.alpha);
  const std::vector<std::string> accepted{"plain", "prox", "control-variate", "dynamic"};
  return Error{ErrorCode::kUsage, "local.objective: " + unknown_name("objective", options.name, accepted)};
}

}  // namespace muster
