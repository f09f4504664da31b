// Files that tests write byte by byte.
#pragma once

#include <cstdint>
#include <vector>

namespace muster {

// The lowest `width` bytes of a value, the lowest first.
inline void put(std::vector<std::uint8_t>& bytes, std::uint64_t value, int width) {
  for (int i = 0; i < width; ++i) bytes.push_back(static_cast<std::uint8_t>(value >> (8 * i)));
}

}  // namespace muster
