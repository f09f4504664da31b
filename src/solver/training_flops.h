// How much work it is to train on one sample.
#pragma once

#include "model/network.h"

namespace muster {

// Per multiply-add of the forward pass: 2 operations forward and 4 backward, and 2 more where a frozen copy of what was
// received runs forward as well: all of it for Objective::output_match(), the extractor for a fusion.
[[nodiscard]] double training_flops(const Network& network, bool matches_outputs = false);

}  // namespace muster
