// Text for people: the nearest known name to a mistyped one, lists of accepted names.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace muster {

// The candidate with the smallest edit distance, or "" when none is close enough to be a plausible typo.
[[nodiscard]] std::string nearest_name(std::string_view typed, std::span<const std::string> candidates);

// "unknown KIND 'TYPED' (did you mean 'x'?); accepted: a, b, c"
[[nodiscard]] std::string unknown_name(std::string_view kind, std::string_view typed,
                                       std::span<const std::string> accepted);

}  // namespace muster
