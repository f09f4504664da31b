// How often this program has called operator new: for tests of code that must not allocate.
#pragma once

#include <cstddef>

namespace muster {
[[nodiscard]] std::size_t allocation_count();
}  // namespace muster
