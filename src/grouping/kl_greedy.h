// The groups of kl-greedy before those that stayed small are given up.
#pragma once

#include <cstdint>
#include <vector>

#include "base/rows.h"

namespace muster {

// Every client is in one of `groups` groups, at least 1 and at most as many as there are clients; the first members are
// clients 0, 1, 2, ...
[[nodiscard]] std::vector<std::vector<std::uint32_t>> grow_groups(const RowsView<std::uint32_t>& labels,
                                                                  std::uint32_t groups);

}  // namespace muster
