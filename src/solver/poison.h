// Poison: what an attacker that is simulated does to samples while they are gathered: another label, a trigger in the
// corner of the picture, or both. The samples themselves stay as they are.
#pragma once

#include <cstdint>
#include <optional>

#include "data/samples.h"

namespace muster {

struct Poison {
  double share = 1;                    // of the samples, always the same ones
  std::uint64_t seed = 0;              // that tells which
  std::optional<std::int32_t> source;  // only samples of this class
  std::optional<std::int32_t> label;   // that they get
  // Side of a square in the lower right corner that is as bright as can be; of samples that are no pictures the last so
  // many values. 0 = none. Not for tokens.
  std::uint32_t trigger = 0;
};

// To the sample that is row `row` of what it was gathered from.
void apply_poison(const Poison& poison, const Samples& samples, std::uint32_t row, float* values, std::int32_t* label);

}  // namespace muster
