// Text on the lines of a terminal: how many columns it takes, and where it goes on below.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace muster {

// What tables and summaries stay within, wherever they are written.
inline constexpr std::size_t kTerminalColumns = 80;

// Of a text as shown_text() gives it; letters of scripts that need the room take two.
[[nodiscard]] std::size_t shown_columns(std::string_view text);

// Lines of at most `columns` columns each, at least 2: broken at blanks, but not between a number and its
// unit, and within a word that is longer than a line.
// One line, if an empty one, at least.
[[nodiscard]] std::vector<std::string> wrapped(std::string_view text, std::size_t columns);

}  // namespace muster
