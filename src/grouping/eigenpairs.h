// Linear algebra on matrices of all pairs: the leading eigenpairs of a symmetric one, and points with a given Gram
// matrix.
#pragma once

#include <cstdint>
#include <vector>

#include "base/rows.h"

namespace muster {

struct EigenPairs {
  std::vector<double> values;  // descending
  Rows<double> vectors;        // one per value, of length 1; the sign is arbitrary
};

// The `count` largest eigenvalues of a symmetric positive semidefinite matrix. Direct for small matrices or many pairs,
// else by block Krylov iteration until residuals are 1e-10 of the largest value; a spectrum without gaps there may stop
// it sooner, with vectors of the right space. Deterministic. Precondition: 1 <= count <= rows.
[[nodiscard]] EigenPairs leading_eigenpairs(const Rows<double>& matrix, std::uint32_t count);

// Points, one per row, whose inner products are `gram` (up to its rounding): they stand for the rows it was made of,
// which may be much longer, wherever only distances count.
[[nodiscard]] Rows<double> points_with_gram(const Rows<double>& gram);

}  // namespace muster
