// What every pair of clients' vectors has in common: inner products, cosines and distances. Rows of floats -> a square
// matrix of doubles, symmetric to the last bit.
//
// Small problems are summed in double throughout; larger ones in float over at most 1,024 columns, and those sums in
// double. Distances are summed from differences, not taken from inner products, so near vectors lose no digits. Rows of
// any finite floats are fine: what would overflow in float is summed again in double. An entry depends on its two rows
// alone: equal rows have distance 0 and equal entries, and exchanging rows exchanges entries.
#pragma once

#include "base/result.h"
#include "base/rows.h"

namespace muster {

// Fails if `method` cannot take so many clients at once: a matrix of all pairs must fit into memory.
[[nodiscard]] Status check_pairs(const char* method, std::uint32_t clients);

enum class Centring { kNone, kMean };  // kMean subtracts the mean of all rows from each of them

[[nodiscard]] Rows<double> gram(const RowsView<float>& rows, Centring centring = Centring::kNone);
[[nodiscard]] Rows<double> l1_distances(const RowsView<float>& rows);
[[nodiscard]] Rows<double> l2_distances(const RowsView<float>& rows);
// Turns a Gram matrix into cosines: within [-1, 1], 1 on the diagonal; zero rows have 0 with all others.
void normalize_gram(Rows<double>& gram);

// The length of the rows' mean.
[[nodiscard]] double mean_length(const RowsView<float>& rows);

}  // namespace muster
