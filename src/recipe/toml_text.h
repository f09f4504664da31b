// TOML in and out, as far as recipes need it: reading that no input can drive too deep, and values as text.
#pragma once

#include <toml++/toml.h>

#include <string>
#include <string_view>

#include "base/result.h"

namespace muster {

// Parses a document. Errors are "ORIGIN:LINE: what is wrong", or without ORIGIN just what is wrong. Keys of many parts
// and deeply nested values are refused before anything recurses into them.
[[nodiscard]] Result<toml::table> parse_toml(std::string_view text, std::string_view origin);

// A string in quotes, with escapes.
[[nodiscard]] std::string toml_string(std::string_view text);
[[nodiscard]] std::string toml_number(double value);
// A value for error messages: one line, and not a long one.
[[nodiscard]] std::string shown_value(const toml::node& node);
// A name for error messages: likewise.
[[nodiscard]] std::string shown_name(std::string_view name);

// Whether it can be part of a document at all.
[[nodiscard]] bool is_utf8(std::string_view text);

}  // namespace muster
