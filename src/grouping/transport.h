// The assignment of clients to places of equal capacity with the largest total gain: an exact transportation problem in
// integers. Knows nothing of what the gains mean.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/rows.h"

namespace muster {

struct Transport {
  std::vector<std::uint32_t> place;  // of each client; every place has exactly `capacity` clients
  std::int64_t gain = 0;             // the sum over clients, the largest possible
};

// gains: a row per client, a column per place. `prices` are where the search starts, one per place, and on return
// those at which everyone is content with their place; how good they are decides the time, never the gain.
// Deterministic in both. Preconditions: rows = places * capacity; places + 2 times the largest difference of gains, and
// of prices, fits 62 bits.
[[nodiscard]] Transport transport(const RowsView<std::int64_t>& gains, std::uint32_t capacity,
                                  std::span<std::int64_t> prices);

}  // namespace muster
