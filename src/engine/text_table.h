// TextTable: a table for people to read, and what becomes of it on a terminal, in Markdown and in LaTeX.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace muster {

// Cells are text as people read it; each format escapes what it must. The first column is text, the others numbers. All
// rows are as long as the header.
struct TextTable {
  std::string title;
  std::vector<std::string> header;
  std::vector<std::vector<std::string>> rows;
};

// Aligned columns.
[[nodiscard]] std::string to_columns(const TextTable& table);
// Without its title.
[[nodiscard]] std::string to_markdown(const TextTable& table);
// For the package booktabs; the title is a comment.
[[nodiscard]] std::string to_latex(const TextTable& table);

// Any text as Markdown shows it, and as LaTeX does: what they would take for a command is escaped.
[[nodiscard]] std::string markdown_text(std::string_view text);
[[nodiscard]] std::string latex_text(std::string_view text);

}  // namespace muster
