// The sizes of groups where nobody sets them, for the methods and for whoever tells ahead what they will do.
#pragma once

#include <cstdint>

namespace muster {

inline constexpr std::uint32_t kDefaultMinSize = 5;  // Group-FEL
// FedSeq.
inline constexpr std::uint32_t kDefaultMinSamples = 800;
inline constexpr std::uint32_t kDefaultMaxClients = 11;

}  // namespace muster
