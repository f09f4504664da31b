// The rows that a view shows, as a vector to compare.
#pragma once

#include <cstdint>
#include <vector>

#include "data/samples.h"

namespace muster {

inline std::vector<std::uint32_t> rows_of(const SampleView& view) {
  return {view.rows.begin(), view.rows.end()};
}

}  // namespace muster
