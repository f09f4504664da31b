// What a member gives to a secure sum of models: by how much it changed the one it was sent, as words.
#pragma once

#include <span>
#include <vector>

#include "secure/fixed_point.h"
#include "solver/local_task.h"

namespace muster {

// Weighted by the member's samples. Fails if it has more than the format allows. Leaves the change in update.model.
// Precondition: as many values in either model.
[[nodiscard]] inline Result<Words> encode_change(const FixedPoint& format, std::span<const float> start,
                                                 LocalUpdate& update) {
  for (std::size_t i = 0; i < start.size(); ++i) update.model[i] -= start[i];
  return encode_input(format, update.model, {}, update.samples);
}

}  // namespace muster
