// How often this test program has called operator new.
#pragma once

#include <cstddef>

namespace muster {
[[nodiscard]] std::size_t allocations();
}  // namespace muster
