// How uneven label counts are, in integers: |b|^2 / n^2 with |b|^2 the sum of squared counts and n their sum. With m
// classes CoV^2 = m |b|^2 / n^2 - 1 and QCID = CoV^2 / m, so that all three order groups alike, and exactly.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "base/rows.h"

namespace muster {

__extension__ typedef unsigned __int128 uint128;

// A total of 0 is the least even of all: CoV and QCID are +infinity.
struct LabelSpread {
  uint128 squares = 0;
  std::uint64_t total = 0;
};

// Below these bounds no operation of this header overflows. Errors name the counts.
inline constexpr std::uint64_t kLargestTotal = std::uint64_t{1} << 53;
inline constexpr std::size_t kMostClasses = std::size_t{1} << 21;
[[nodiscard]] Status check_label_totals(const RowsView<std::uint32_t>& labels);

// The clients that have label counts at all: of the others nothing is known.
[[nodiscard]] std::vector<std::uint32_t> clients_with_labels(const RowsView<std::uint32_t>& labels);

[[nodiscard]] LabelSpread spread_of(std::span<const std::uint32_t> counts);
// The spread of a group with `counts` and `group` once a client with the counts `client` has joined.
[[nodiscard]] LabelSpread joined_spread(const LabelSpread& group, std::span<const std::uint64_t> counts,
                                        std::span<const std::uint32_t> client);

// Strictly lower CoV, equivalently QCID.
[[nodiscard]] bool more_even(const LabelSpread& a, const LabelSpread& b);
// The sign of CoV - bound. Precondition: bound >= 0.
[[nodiscard]] int compare_cov(const LabelSpread& spread, std::size_t classes, double bound);

[[nodiscard]] double cov_of(const LabelSpread& spread, std::size_t classes);
[[nodiscard]] double qcid_of(const LabelSpread& spread, std::size_t classes);

}  // namespace muster
