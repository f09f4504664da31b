// A line of the summaries that commands print.
#pragma once

#include <string_view>

namespace muster {

// "  label      text" on stdout, as wide as a terminal; what has no room goes on below. `text` is one that may be
// shown.
void print_field(std::string_view label, std::string_view text);

}  // namespace muster
