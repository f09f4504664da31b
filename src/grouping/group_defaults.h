// What the keys of a grouping method are where a recipe does not set them, for the methods and for whoever tells ahead
// what they will do.
#pragma once

#include <cstdint>

#include "grouping/grouping.h"

namespace muster {

inline constexpr std::uint32_t kDefaultMinSize = 5;  // Group-FEL
// FedSeq.
inline constexpr std::uint32_t kDefaultMinSamples = 800;
inline constexpr std::uint32_t kDefaultMaxClients = 11;

// The options with the method's own value of every key that is not set and has one: what form_groups() goes by.
// `classes`: how many there are label counts of; 0 = not known.
[[nodiscard]] GroupingOptions with_defaults(GroupingOptions options, std::uint32_t classes);

}  // namespace muster
