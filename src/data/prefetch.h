// prefetch(): samples on their way from memory while something else is done. They lie anywhere, so that nothing in the
// processor foresees which comes next.
#pragma once

#include <cstdint>
#include <span>

#include "data/samples.h"

namespace muster {

// Asks for what a gather() of these positions will read first; it asks for the rest itself. Changes nothing but its
// speed.
void prefetch(const SampleView& view, std::span<const std::uint32_t> positions);

}  // namespace muster
