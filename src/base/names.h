// Text for people: the nearest known name to a mistyped one, lists of accepted names, numbers of things.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace muster {

// The candidate with the smallest edit distance, or "" when none is close enough to be a plausible typo. Upper and
// lower case only decide between candidates that are equally close without them.
[[nodiscard]] std::string nearest_name(std::string_view typed, std::span<const std::string> candidates);

// "unknown KIND 'TYPED' (did you mean 'x'?); accepted: a, b, c"
[[nodiscard]] std::string unknown_name(std::string_view kind, std::string_view typed,
                                       std::span<const std::string> accepted);

// "1 client", "5 clients".
[[nodiscard]] std::string counted(std::uint64_t count, std::string_view thing);

}  // namespace muster
