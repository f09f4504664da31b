// What stands for a client when clients are compared: its vector if there are vectors, else the shares of its labels.
#pragma once

#include "grouping/grouping.h"

namespace muster {

// A row per client. Input needs labels or vectors; a client without counted labels has equal shares.
[[nodiscard]] Rows<double> representers(const GroupingInput& input);

}  // namespace muster
