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

// FedCLAR: twice the least group of Group-FEL, and a cosine of 0.1.
inline constexpr std::uint32_t kDefaultMergedClients = 10;
inline constexpr double kDefaultMergedDistance = 0.9;
// Sattler's CFL, of the mean length of an update, where thresholds are calibrated: a mean update below the first is
// short, an update above the second is long.
inline constexpr double kShareOfMean = 0.1;
inline constexpr double kShareOfLongest = 0.6;

// The options with the method's own value of every key that is not set and has one: what form_groups() goes by.
// `classes`: how many there are label counts of; 0 = not known.
[[nodiscard]] GroupingOptions with_defaults(GroupingOptions options, std::uint32_t classes);

}  // namespace muster
