// A grouping as bytes, for checkpoints. Groups of one, which may be millions, take a bit per client.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "grouping/grouping.h"

namespace muster {

[[nodiscard]] std::string pack(const Grouping& grouping, std::uint32_t clients);
// Fails unless every client below `clients` is there exactly once, and members and groups are in their order.
[[nodiscard]] Result<Grouping> unpack(std::string_view packed, std::uint32_t clients);

}  // namespace muster
