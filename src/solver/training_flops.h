// How much work it is to train on one sample.
#pragma once

#include "model/network.h"
#include "solver/objective.h"

namespace muster {

// Per multiply-add of the forward pass: 2 operations forward and 4 backward, and 2 more where a frozen copy of what was
// received runs forward as well.
[[nodiscard]] double training_flops(const Network& network, const Objective& objective);

}  // namespace muster
