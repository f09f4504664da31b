// What records say of the labels in groups: the `quality` of groups.jsonl and of summary.json.
#pragma once

#include <nlohmann/json.hpp>

#include "grouping/quality.h"

namespace muster {

// `clients`: the same of groups of one client each. Numbers that are not finite become null.
[[nodiscard]] nlohmann::ordered_json quality_json(const GroupQuality& groups, const GroupQuality& clients);

}  // namespace muster
