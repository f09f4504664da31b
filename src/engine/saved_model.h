// Models read back from a checkpoint: of the right number and size, or an error that says what is wrong.
#pragma once

#include "record/checkpoint.h"

namespace muster {

// `count` models of `size` values each. A model that diverged is saved as it was, so values need not be finite.
[[nodiscard]] inline Result<std::vector<float>> saved_models(const Checkpoint& checkpoint, const char* section,
                                                             std::size_t count, std::size_t size) {
  MUSTER_ASSIGN(std::vector<float> values, checkpoint.get_floats(section));
  if (values.size() != count * size) {
    return failure("checkpoint of round {} holds {} values of '{}', the recipe's {} models of {} have {}",
                   checkpoint.round, values.size(), section, count, size, count * size);
  }
  return values;
}

}  // namespace muster
