// NumPy's .npy: one array in memory order. Versions 1 to 3, little-endian numbers and booleans, C order.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"

namespace muster {

// An array viewed in the bytes it was parsed from; valid as long as they are.
struct NpyArray {
  enum class Type { kBool, kI8, kU8, kI16, kU16, kI32, kU32, kI64, kU64, kF16, kF32, kF64 };

  Type type = Type::kU8;
  std::vector<std::uint64_t> dims;        // empty = a single number
  std::size_t count = 0;                  // product of dims
  std::span<const std::uint8_t> payload;  // exactly `count` elements

  [[nodiscard]] bool is_float() const { return type >= Type::kF16; }
  // The element as a double (64-bit integers are rounded). Precondition: index < count.
  [[nodiscard]] double at(std::size_t index) const;
};

[[nodiscard]] Result<NpyArray> parse_npy(std::span<const std::uint8_t> bytes);

}  // namespace muster
