// ModelParts: which parameters of a model stay with the client that trains them, and which nobody trains. The rest of a
// model is what clients share. Only the clients know: a server is sent back what it sent.
#pragma once

#include "model/parameter_parts.h"
#include "solver/local_options.h"

namespace muster {

struct ModelParts {
  ParameterRanges personal;  // what every client keeps for itself
  ParameterRanges shared;    // all the rest
  ParameterRanges frozen;    // not trained from round LocalOptions::freeze_from on
};

// Fails where a named part is not there, or nothing would be left to train.
[[nodiscard]] Result<ModelParts> model_parts(const Network& network, const LocalOptions& options);

}  // namespace muster
