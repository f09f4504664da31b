// A comparison as text: aligned columns for a terminal, Markdown, LaTeX (booktabs), or CSV with one line per method.
#pragma once

#include <string>
#include <string_view>

#include "engine/comparison_table.h"

namespace muster {

[[nodiscard]] std::string to_plain_text(const ComparisonTable& table);
[[nodiscard]] std::string to_markdown(const ComparisonTable& table);
[[nodiscard]] std::string to_latex(const ComparisonTable& table);
// Numbers are not rounded and shares are not per cent; what is not known is an empty cell.
[[nodiscard]] std::string to_csv(const ComparisonTable& table);

// Any text as LaTeX shows it; what TeX would take for a command is escaped.
[[nodiscard]] std::string latex_text(std::string_view text);

}  // namespace muster
