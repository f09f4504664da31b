#include "grouping/label_spread.h"

#include <cmath>
#include <limits>

namespace muster {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct Wide {
  uint128 high = 0;
  uint128 low = 0;
};

Wide product(uint128 a, uint128 b) {
  const auto low_half = [](uint128 x) { return static_cast<std::uint64_t>(x); };
  const uint128 low = uint128{low_half(a)} * low_half(b);
  const uint128 middle = (a >> 64) * low_half(b) + (low >> 64);  // at most (2^64 - 1)^2 + 2^64 - 1
  const uint128 cross = low_half(a) * (b >> 64) + low_half(middle);
  return {.high = (a >> 64) * (b >> 64) + (middle >> 64) + (cross >> 64), .low = (cross << 64) | low_half(low)};
}

// Precondition: the result fits.
Wide shifted(uint128 value, int bits) {
  if (bits == 0) return {.high = 0, .low = value};
  if (bits >= 128) return {.high = value << (bits - 128), .low = 0};
  return {.high = value >> (128 - bits), .low = value << bits};
}

int compare(const Wide& a, const Wide& b) {
  if (a.high != b.high) return a.high < b.high ? -1 : 1;
  if (a.low != b.low) return a.low < b.low ? -1 : 1;
  return 0;
}

// m |b|^2 - n^2, which is CoV^2 n^2: not negative by Cauchy and Schwarz.
uint128 variation(const LabelSpread& spread, std::size_t classes) {
  return spread.squares * classes - uint128{spread.total} * spread.total;
}

int bits_of(uint128 value) {
  int bits = 0;
  for (; value != 0; value >>= 1) ++bits;
  return bits;
}

}  // namespace

Status check_label_totals(const RowsView<std::uint32_t>& labels) {
  if (labels.width >= kMostClasses) {
    return failure("labels: {} classes, want fewer than {}", labels.width, kMostClasses);
  }
  std::uint64_t total = 0;
  for (std::uint32_t k = 0; k < labels.count(); ++k) {
    for (const std::uint32_t count : labels.row(k)) total += count;
    if (total >= kLargestTotal) {
      return failure("labels: {} samples or more in all, want fewer than {}", total, kLargestTotal);
    }
  }
  return {};
}

std::vector<std::uint32_t> clients_with_labels(const RowsView<std::uint32_t>& labels) {
  std::vector<std::uint32_t> clients;
  for (std::uint32_t k = 0; k < labels.count(); ++k) {
    if (spread_of(labels.row(k)).total > 0) clients.push_back(k);
  }
  return clients;
}

LabelSpread spread_of(std::span<const std::uint32_t> counts) {
  LabelSpread spread;
  for (const std::uint32_t count : counts) {
    spread.squares += std::uint64_t{count} * count;
    spread.total += count;
  }
  return spread;
}

LabelSpread joined_spread(const LabelSpread& group, std::span<const std::uint64_t> counts,
                          std::span<const std::uint32_t> client) {
  LabelSpread joined = group;
  for (std::size_t y = 0; y < counts.size(); ++y) {
    joined.squares += uint128{2 * counts[y] + client[y]} * client[y];
    joined.total += client[y];
  }
  return joined;
}

bool more_even(const LabelSpread& a, const LabelSpread& b) {
  if (a.total == 0 || b.total == 0) return a.total > b.total;
  const uint128 a_whole = uint128{a.total} * a.total;
  const uint128 b_whole = uint128{b.total} * b.total;
  if (((a.total | b.total) >> 31) == 0) return a.squares * b_whole < b.squares * a_whole;  // below 2^124
  return compare(product(a.squares, b_whole), product(b.squares, a_whole)) < 0;
}

int compare_cov(const LabelSpread& spread, std::size_t classes, double bound) {
  if (spread.total == 0) return bound == kInfinity ? 0 : 1;
  const uint128 left = variation(spread, classes);
  if (bound == 0) return left == 0 ? 0 : 1;
  if (bound >= static_cast<double>(kMostClasses)) return -1;  // CoV <= sqrt(m - 1)
  // bound = mantissa 2^-scale, so compare left 4^scale with (mantissa n)^2, which has 2 * 106 bits at most.
  int exponent = 0;
  const auto mantissa = static_cast<std::uint64_t>(std::ldexp(std::frexp(bound, &exponent), 53));
  const int scale = 53 - exponent;  // at least 31, as the bound is below 2^22
  if (left == 0) return -1;
  if (bits_of(left) + 2 * scale > 256) return 1;
  const uint128 root = uint128{mantissa} * spread.total;
  return compare(shifted(left, 2 * scale), product(root, root));
}

double qcid_of(const LabelSpread& spread, std::size_t classes) {
  if (spread.total == 0) return kInfinity;
  const auto total = static_cast<double>(spread.total);
  return static_cast<double>(variation(spread, classes)) / (static_cast<double>(classes) * total * total);
}

double cov_of(const LabelSpread& spread, std::size_t classes) {
  return std::sqrt(static_cast<double>(classes) * qcid_of(spread, classes));
}

}  // namespace muster
