#include "engine/text_table.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "data/shown_text.h"

namespace muster {
namespace {

// Columns on a terminal: bytes that only continue a character take none.
std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

}  // namespace

std::string latex_text(std::string_view text) {
  std::string safe;
  const std::string_view plus_minus = "±";
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (text.substr(i).starts_with(plus_minus)) {
      safe += "$\\pm$";
      i += plus_minus.size() - 1;
    } else if (std::string_view("&%$#_{}").find(c) != std::string_view::npos) {
      safe += '\\';
      safe += c;
    } else if (c == '\\') {
      safe += "\\textbackslash{}";
    } else if (c == '~') {
      safe += "\\textasciitilde{}";
    } else if (c == '^') {
      safe += "\\textasciicircum{}";
    } else if (static_cast<unsigned char>(c) < 0x20) {
      safe += ' ';
    } else {
      safe += c;
    }
  }
  return safe;
}

std::string to_columns(const TextTable& cells) {
  std::vector<std::size_t> widths;
  for (std::size_t c = 0; c < cells.header.size(); ++c) {
    widths.push_back(width_of(cells.header[c]));
    for (const auto& row : cells.rows) widths[c] = std::max(widths[c], width_of(shown_text(row[c])));
  }
  std::string out;
  const auto add = [&](const std::vector<std::string>& row) {
    std::string line;
    for (std::size_t c = 0; c < row.size(); ++c) {
      const std::string cell = shown_text(row[c]);
      line += cell + std::string(widths[c] - width_of(cell) + 2, ' ');
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  };
  add(cells.header);
  for (const auto& row : cells.rows) add(row);
  return out;
}

std::string markdown_text(std::string_view text) {
  std::string safe;
  for (const char c : shown_text(std::string(text))) {
    if (c == '|' || c == '\\' || c == '`' || c == '*' || c == '_' || c == '<') safe += '\\';
    safe += c;
  }
  return safe;
}

std::string to_markdown(const TextTable& cells) {
  const auto line = [](const std::vector<std::string>& row) {
    std::string text = "|";
    for (const std::string& cell : row) text += " " + markdown_text(cell) + " |";
    return text + "\n";
  };
  std::string out = line(cells.header) + "|---|";
  for (std::size_t c = 1; c < cells.header.size(); ++c) out += "---:|";
  out += "\n";
  for (const auto& row : cells.rows) out += line(row);
  return out;
}

std::string to_latex(const TextTable& cells) {
  const auto line = [](const std::vector<std::string>& row) {
    std::vector<std::string> safe;
    for (const std::string& cell : row) safe.push_back(latex_text(cell));
    return fmt::format("{} \\\\\n", fmt::join(safe, " & "));
  };
  std::string out = fmt::format("% {}\n\\begin{{tabular}}{{l{}}}\n\\toprule\n", shown_text(cells.title),
                                std::string(cells.header.size() - 1, 'r'));
  out += line(cells.header) + "\\midrule\n";
  for (const auto& row : cells.rows) out += line(row);
  return out + "\\bottomrule\n\\end{tabular}\n";
}

}  // namespace muster
