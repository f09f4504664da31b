// Words: vectors of integers modulo 2^32 or 2^64, which is what a secure sum adds up. Masks: such vectors that a key of
// 256 bits expands to, uniform for whoever does not have the key (AES-256 in counter mode).
#pragma once

#include <cstddef>
#include <cstdint>
#include <variant>
#include <vector>

#include "secure/secret_bytes.h"

namespace muster {

using Words = std::variant<std::vector<std::uint32_t>, std::vector<std::uint64_t>>;

// Precondition: bits is 32 or 64.
[[nodiscard]] Words zero_words(std::uint32_t bits, std::size_t count);
[[nodiscard]] std::uint32_t bits_of(const Words& words);
[[nodiscard]] std::size_t count_of(const Words& words);

enum class MaskSign { kPlus, kMinus };
// Of two members that share a mask, the one with the smaller id adds it and the other takes it off.
[[nodiscard]] inline MaskSign sign_of_pair(std::uint32_t own, std::uint32_t other) {
  return other > own ? MaskSign::kPlus : MaskSign::kMinus;
}
[[nodiscard]] inline MaskSign opposite(MaskSign sign) {
  return sign == MaskSign::kPlus ? MaskSign::kMinus : MaskSign::kPlus;
}

// Precondition: equal bits and counts.
void add_words(Words& into, const Words& words, MaskSign sign = MaskSign::kPlus);
// A key must expand to one mask only, ever.
void add_mask(Words& into, const SecretKey& key, MaskSign sign);

}  // namespace muster
