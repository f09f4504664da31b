// A comparison as text: aligned columns for a terminal, Markdown, LaTeX (booktabs), or CSV with one line per method.
#pragma once

#include <string>
#include <vector>

#include "engine/comparison_table.h"
#include "engine/text_table.h"

namespace muster {

[[nodiscard]] std::string to_plain_text(const ComparisonTable& table);
[[nodiscard]] std::string to_markdown(const ComparisonTable& table);
[[nodiscard]] std::string to_latex(const ComparisonTable& table);
// Numbers are not rounded and shares are not per cent; what is not known is an empty cell.
[[nodiscard]] std::string to_csv(const ComparisonTable& table);

// What all but the last are made of: accuracies, what it took to reach targets, differences.
[[nodiscard]] std::vector<TextTable> tables_of(const ComparisonTable& table);

}  // namespace muster
