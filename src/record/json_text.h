// JSON that comes from or goes to files: neither direction throws, whatever the bytes are.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace muster {

// One line of JSON. Names and paths may hold any bytes: what is not UTF-8 becomes U+FFFD.
template <typename Json>
[[nodiscard]] std::string json_text(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// As a value that JSON has: null if it is not finite.
[[nodiscard]] nlohmann::ordered_json json_number(double value);
[[nodiscard]] nlohmann::ordered_json json_number(const std::optional<double>& value);

// No summary.json that a run writes is larger.
inline constexpr std::uint64_t kMostSummaryBytes = std::uint64_t{64} << 20;

// Deeper than anything that is written here, and far from what would exhaust the stack.
inline constexpr std::uint32_t kMostJsonLevels = 32;

// Fails on text that is not JSON, and on arrays and objects nested deeper than `levels`: much of what can be done with
// a value recurses into it. Names neither the file nor the line.
[[nodiscard]] Result<nlohmann::json> parse_json(std::string_view text, std::uint32_t levels = kMostJsonLevels);

}  // namespace muster
