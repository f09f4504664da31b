// A text as a cell of a table with commas.
#pragma once

#include <string>
#include <string_view>

namespace muster {

// In quotes where it has to be (RFC 4180).
[[nodiscard]] std::string csv_cell(std::string_view text);

}  // namespace muster
