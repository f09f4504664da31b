#include "solver/model_parts.h"

#include <fmt/ranges.h>

namespace muster {

Result<ModelParts> model_parts(const Network& network, const LocalOptions& options) {
  ModelParts parts;
  MUSTER_ASSIGN(parts.personal, parts_of(network, options.personal, "local.personal"));
  MUSTER_ASSIGN(parts.frozen, parts_of(network, options.freeze, "local.freeze"));
  parts.shared = all_but(network, parts.personal);
  const auto all_trained = [&](const ParameterRanges& ranges) {
    return count_before(ranges, network.parameters()) == network.parameters();
  };
  if (all_trained(parts.frozen)) {
    return usage_error("local.freeze: [\"{}\"] is all that is trained; want a part of the network",
                       fmt::join(options.freeze, "\", \""));
  }
  if (options.personal_epochs && all_trained(parts.personal)) {
    return usage_error("local.personal-epochs: {:g}, but local.personal leaves nothing to train after them",
                       *options.personal_epochs);
  }
  return parts;
}

}  // namespace muster
