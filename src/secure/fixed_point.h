// FixedPoint: how numbers become integers that may be summed without anybody seeing them. A member's vector is its
// values times its weight, the weight itself, whole numbers that it counts, and values that count once whatever its
// weight; the sum of such vectors of all members stays below half of 2^bits, whatever they hold.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "secure/mask.h"

namespace muster {

struct FixedPoint {
  std::uint32_t bits = 32;           // of a word: 32 | 64
  std::uint32_t fraction_bits = 16;  // a value is a whole number of 2^-fraction_bits
  std::uint64_t most_weight = 1;     // of one member
  bool operator==(const FixedPoint&) const = default;
};

inline constexpr double kLargestValue = 16;  // values beyond are clipped to it
inline constexpr std::uint32_t kMostFractionBits = 32;
inline constexpr std::uint32_t kFinestOfNarrowWords = 16;  // fraction bits that 32-bit words must leave to be chosen
inline constexpr std::uint32_t kCoarsest = 8;              // fraction bits without which a sum is worth nothing

// The finest format in which no sum of so many members overflows. `bits` not set: 32 where they leave
// kFinestOfNarrowWords, else 64. Fails if less than kCoarsest are left.
[[nodiscard]] Result<FixedPoint> choose_fixed_point(std::optional<std::uint32_t> bits, std::uint32_t members,
                                                    std::uint64_t most_weight);
// Fails if a sum of so many members could overflow.
[[nodiscard]] Status check_fixed_point(const FixedPoint& format, std::uint32_t members);

// The vector of one member: `weighted` and the weight. Fails if a value is not finite, or the weight is 0 or above the
// format's.
[[nodiscard]] Result<Words> encode_input(const FixedPoint& format, std::span<const float> weighted,
                                         std::uint64_t weight);
// And what it counts. Fails if so many members that count as much could overflow.
[[nodiscard]] Status add_counts(std::span<const std::uint64_t> counts, std::uint32_t members, Words& words);
// And values without a weight, as fine as so many members leave room for. Fails if one is not finite.
[[nodiscard]] Status add_values(std::span<const float> values, std::uint32_t members, Words& words);

// What the words of a member's vector are, in this order.
struct SumLayout {
  std::size_t weighted = 0;  // values; their weight follows
  std::size_t counts = 0;
  std::size_t values = 0;  // without a weight
  [[nodiscard]] std::size_t words() const { return weighted + 1 + counts + values; }
};

// What the sum of such vectors says.
struct DecodedSum {
  std::uint64_t weight = 0;
  std::vector<double> mean;  // of the weighted values
  std::vector<std::uint64_t> counts = {};
  std::vector<double> values = {};  // summed
};
// Fails if the weight is none that `members` can have. Precondition: as many words as the layout has.
[[nodiscard]] Result<DecodedSum> decode_sum(const FixedPoint& format, const Words& sum, const SumLayout& layout,
                                            std::uint32_t members);

}  // namespace muster
