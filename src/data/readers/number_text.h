// Numbers as tables write them. The value is the double nearest to the text; callers round it to float.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "data/preparation.h"

namespace muster {

// Reads digits, perhaps a sign, a decimal mark and an exponent, from `at` on. True if they are a number whose double is
// exact in one operation (Clinger's fast path): then `at` is behind it. False, and nothing is changed, for all else,
// which parse_decimal() decides. The text must end in a byte that is none of these characters.
inline bool read_plain_number(const char*& at, char mark, double& value) {
  static constexpr double kPowers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                       1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
  const char* p = at;
  const bool negative = *p == '-';
  if (negative || *p == '+') ++p;
  std::uint64_t mantissa = 0;
  const char* const first = p;
  for (; static_cast<unsigned char>(*p - '0') < 10; ++p) mantissa = mantissa * 10 + static_cast<unsigned>(*p - '0');
  auto digits = p - first;
  std::ptrdiff_t exponent = 0;
  if (*p == mark) {
    const char* const fraction = ++p;
    for (; static_cast<unsigned char>(*p - '0') < 10; ++p) mantissa = mantissa * 10 + static_cast<unsigned>(*p - '0');
    exponent = fraction - p;
    digits += p - fraction;
  }
  if (digits == 0 || digits > 18) return false;
  if (*p == 'e' || *p == 'E') {
    ++p;
    const bool small = *p == '-';
    if (small || *p == '+') ++p;
    if (static_cast<unsigned char>(*p - '0') >= 10) return false;
    std::ptrdiff_t power = 0;
    for (; static_cast<unsigned char>(*p - '0') < 10 && power < 1000; ++p) power = power * 10 + (*p - '0');
    exponent += small ? -power : power;
  }
  if (mantissa > (std::uint64_t{1} << 53) || exponent < -22 || exponent > 22) return false;
  const double exact = static_cast<double>(mantissa);
  const double magnitude = exponent < 0 ? exact / kPowers[-exponent] : exact * kPowers[exponent];
  value = negative ? -magnitude : magnitude;
  at = p;
  return true;
}

// The whole text as a number; a value too large for a double is infinite. nullopt if it is not a number.
[[nodiscard]] std::optional<double> parse_decimal(std::string_view text, DecimalMark mark);

// Whether the text is digits with a decimal mark among or after them: "1,5" with a comma, "-.5e3" with a point.
[[nodiscard]] bool has_decimal(std::string_view text, DecimalMark mark);

}  // namespace muster
