// Principal components of clients' vectors.
#pragma once

#include "base/rows.h"

namespace muster {

// The rows in the coordinates of their leading principal components: as few as hold `share` of the variance, at least
// one. Distances between rows keep that share of their squares' sum, and all of it with share = 1. Computed from the
// rows' inner products, or from the columns' where there are fewer of these. Precondition: finite rows, 0 < share <= 1.
[[nodiscard]] Rows<float> principal_components(const RowsView<float>& rows, double share);

}  // namespace muster
