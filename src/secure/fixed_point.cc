#include "secure/fixed_point.h"

#include <algorithm>
#include <cmath>

#include "base/finite.h"

namespace muster {
namespace {

// The largest sum there can be, as a share of half the range of words; in double, which is exact enough for powers
// of 2.
bool overflows(std::uint32_t bits, std::uint32_t fraction_bits, std::uint32_t members, std::uint64_t most_weight) {
  const double largest = std::ldexp(kLargestValue, static_cast<int>(fraction_bits)) * static_cast<double>(members) *
                         static_cast<double>(most_weight);
  return largest >= std::ldexp(1.0, static_cast<int>(bits) - 1);
}

std::optional<std::uint32_t> finest(std::uint32_t bits, std::uint32_t members, std::uint64_t most_weight) {
  for (std::uint32_t fraction_bits = kMostFractionBits; fraction_bits >= kCoarsest; --fraction_bits) {
    if (!overflows(bits, fraction_bits, members, most_weight)) return fraction_bits;
  }
  return std::nullopt;
}

// Of a value that no weight makes larger: any format has room for one of weight 1.
std::uint32_t unweighted_fraction_bits(std::uint32_t bits, std::uint32_t members) {
  return finest(bits, members, 1).value_or(kCoarsest);
}

template <typename Word>
Word quantised(float value, double scale, std::uint64_t weight) {
  const double clipped = std::clamp(static_cast<double>(value), -kLargestValue, kLargestValue);
  return static_cast<Word>(static_cast<std::uint64_t>(std::llrint(clipped * scale)) * weight);
}

template <typename Word>
double as_number(Word word) {
  return static_cast<double>(static_cast<std::make_signed_t<Word>>(word));
}

}  // namespace

Result<FixedPoint> choose_fixed_point(std::optional<std::uint32_t> bits, std::uint32_t members,
                                      std::uint64_t most_weight) {
  const std::optional<std::uint32_t> narrow = finest(32, members, most_weight);
  const std::uint32_t chosen = bits.value_or(narrow && *narrow >= kFinestOfNarrowWords ? 32 : 64);
  const std::optional<std::uint32_t> fraction_bits = chosen == 32 ? narrow : finest(64, members, most_weight);
  if (!fraction_bits) {
    return usage_error(
        "secure.bits: {}, but a sum of {} members of at most {} samples leaves fewer than {} bits of "
        "fraction; {}",
        chosen, members, most_weight, kCoarsest, chosen == 32 ? "want 64" : "want smaller groups");
  }
  return FixedPoint{.bits = chosen, .fraction_bits = *fraction_bits, .most_weight = most_weight};
}

Status check_fixed_point(const FixedPoint& format, std::uint32_t members) {
  if ((format.bits != 32 && format.bits != 64) || format.fraction_bits > kMostFractionBits || format.most_weight == 0) {
    return failure("words of {} bits, {} of them fraction", format.bits, format.fraction_bits);
  }
  if (overflows(format.bits, format.fraction_bits, members, format.most_weight)) {
    return failure("a sum of {} members of weight {} may overflow {} bits", members, format.most_weight, format.bits);
  }
  return {};
}

Result<Words> encode_input(const FixedPoint& format, std::span<const float> weighted, std::uint64_t weight) {
  if (weight == 0 || weight > format.most_weight) {
    return failure("a weight of {}, want 1 to {}", weight, format.most_weight);
  }
  if (!all_finite(weighted)) return failure("a value that is not finite");
  Words words = zero_words(format.bits, weighted.size() + 1);
  const double scale = std::ldexp(1.0, static_cast<int>(format.fraction_bits));
  std::visit(
      [&](auto& values) {
        using Word = typename std::remove_reference_t<decltype(values)>::value_type;
        auto* out = values.data();
        for (const float value : weighted) *out++ = quantised<Word>(value, scale, weight);
        *out = static_cast<Word>(weight);
      },
      words);
  return words;
}

Status add_counts(std::span<const std::uint64_t> counts, std::uint32_t members, Words& words) {
  const std::uint64_t most = (std::uint64_t{1} << (bits_of(words) - 1)) / std::max(members, 1u) - 1;
  for (const std::uint64_t count : counts) {
    if (count > most) return failure("a count of {}, want at most {}", count, most);
  }
  std::visit(
      [&](auto& values) {
        using Word = typename std::remove_reference_t<decltype(values)>::value_type;
        for (const std::uint64_t count : counts) values.push_back(static_cast<Word>(count));
      },
      words);
  return {};
}

Status add_values(std::span<const float> values, std::uint32_t members, Words& words) {
  if (!all_finite(values)) return failure("a value that is not finite");
  const double scale = std::ldexp(1.0, static_cast<int>(unweighted_fraction_bits(bits_of(words), members)));
  std::visit(
      [&](auto& out) {
        using Word = typename std::remove_reference_t<decltype(out)>::value_type;
        for (const float value : values) out.push_back(quantised<Word>(value, scale, 1));
      },
      words);
  return {};
}

Result<DecodedSum> decode_sum(const FixedPoint& format, const Words& sum, const SumLayout& layout,
                              std::uint32_t members) {
  MUSTER_CHECK(layout.words() == count_of(sum), "{} of {}", layout.words(), count_of(sum));
  DecodedSum decoded;
  const double step = std::ldexp(1.0, -static_cast<int>(format.fraction_bits));
  const double fine_step = std::ldexp(1.0, -static_cast<int>(unweighted_fraction_bits(format.bits, members)));
  std::visit(
      [&](const auto& values) {
        const auto* in = values.data();
        decoded.weight = values[layout.weighted];
        const double per_weight = static_cast<double>(decoded.weight);
        for (; decoded.mean.size() < layout.weighted; ++in) {
          decoded.mean.push_back(as_number(*in) * step / per_weight);
        }
        ++in;
        decoded.counts.assign(in, in + layout.counts);
        in += layout.counts;
        for (; decoded.values.size() < layout.values; ++in) decoded.values.push_back(as_number(*in) * fine_step);
      },
      sum);
  if (decoded.weight == 0 || decoded.weight > format.most_weight * members) {
    return failure("a sum of weights of {}, want 1 to {}", decoded.weight, format.most_weight * members);
  }
  return decoded;
}

}  // namespace muster
