// What methods that compare vectors share. Clients whose vectors are the same, or whose updates point in the same
// direction, are never separated to reach a number of groups. Clients whose update is zero have no direction: they are
// left out and then join the largest group. Internal to the library.
#pragma once

#include <cstdint>
#include <vector>

#include "base/rows.h"
#include "grouping/groupers.h"

namespace muster {

// 1 - cosine up to which two directions are one: what rounding leaves of 0, with room to spare.
inline constexpr double kSameDirection = 1e-6;

// The updates that are not zero.
struct Directed {
  std::vector<std::uint32_t> clients;  // ascending
  Rows<double> gram;                   // of their updates
  std::vector<std::uint32_t> leader;   // position -> the first position with the same direction
  std::uint32_t directions = 0;        // distinct ones
};
[[nodiscard]] Directed directed_updates(const RowsView<float>& updates);

// 1 - cosine of all pairs, from their Gram matrix. A zero row is at distance 1 from all others but zero rows.
[[nodiscard]] Rows<double> cosine_distances(Rows<double> gram);

// Of all pairs by metric l1, l2 or cosine, which is 1 - cosine as above.
[[nodiscard]] Rows<double> distances_by(const std::string& metric, const RowsView<float>& vectors);

// For each row the first one that equals it.
[[nodiscard]] std::vector<std::uint32_t> first_equal_rows(const RowsView<float>& rows);

// The note for when there are fewer groups than wanted because clients have so few distinct `things`.
[[nodiscard]] std::string too_few_distinct(std::uint32_t wanted, std::uint32_t distinct, const char* things,
                                           std::size_t formed);

// The draft for groups of positions in `directed`, with the other clients in the largest group, the first of equals.
// `wanted` groups were asked for; a note says why there are fewer.
[[nodiscard]] Draft with_zero_updates(std::vector<std::vector<std::uint32_t>> groups, const Directed& directed,
                                      std::uint32_t clients, std::uint32_t wanted);

// cos(D_i, v_t) for the `directions` leading right singular vectors v_t of the rows D with this Gram matrix G = U L
// U^T: sqrt(lambda_t) u_it / |D_i|, so the long vectors v_t are never made. Zero where D has fewer directions.
[[nodiscard]] Rows<double> direction_cosines(const Rows<double>& gram, std::uint32_t directions);

// How differently two clients' updates stand to all others (FedGroup, mean of absolute differences of cosines): with
// S the cosines, (|S_i - S_j|_1 - 2 |1 - S_ij|) / (n - 2), since z = i and z = j each add |1 - S_ij| to the norm.
// Zero where there are no others. `gram` has no zero rows and is used up.
[[nodiscard]] Rows<double> mean_absolute_cosine_differences(Rows<double> gram);

// The non-empty ones of `count` sets, from the set of each item.
[[nodiscard]] std::vector<std::vector<std::uint32_t>> sets_of(const std::vector<std::uint32_t>& set_of_item,
                                                              std::uint32_t count);

}  // namespace muster
