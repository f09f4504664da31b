// Names that come from files, made fit for a terminal, a table or a log line: nothing in them can move the cursor,
// break the line or be invalid UTF-8.
#pragma once

#include <string>
#include <string_view>

namespace muster {

// `text` with control characters as \n, \t, \xNN and bytes that are not UTF-8 as \xNN. Everything else, letters of all
// scripts included, stays as it is.
[[nodiscard]] std::string shown_text(std::string_view text);

// The number of bytes of the UTF-8 character that `text` begins with; 0 if it begins with none.
[[nodiscard]] std::size_t utf8_character(std::string_view text);

}  // namespace muster
