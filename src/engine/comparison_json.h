// A comparison as one JSON object; field names are those of the public contract.
#pragma once

#include <string>

#include "engine/comparison_table.h"

namespace muster {

[[nodiscard]] std::string to_json(const ComparisonTable& table);

}  // namespace muster
