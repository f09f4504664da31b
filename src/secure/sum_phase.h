// The phases of a secure sum, in which members may be lost.
#pragma once

#include <cstdint>
#include <string_view>

namespace muster {

enum class SumPhase : std::uint8_t { kKeys, kShares, kInput, kAgreement, kOpening, kDone };
// "keys", "shares", "input", "agreement", "opening", "done".
[[nodiscard]] std::string_view name(SumPhase phase);

}  // namespace muster
