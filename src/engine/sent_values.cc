#include "engine/sent_values.h"

#include "solver/model_parts.h"

namespace muster {

Result<SentValues> sent_values(const LocalOptions& local, const Network& network, bool has_payload) {
  MUSTER_ASSIGN(const ModelParts parts, model_parts(network, local));
  SentValues sent{.model = count_of(parts.shared),
                  .kept_parameters = count_before(parts.personal, network.parameters())};
  if (has_payload) sent.payload = network.parameters() - sent.kept_parameters;
  return sent;
}

}  // namespace muster
