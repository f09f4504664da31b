#include "engine/text_table.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "data/shown_text.h"
#include "data/wrapped_text.h"

namespace muster {
namespace {

// Where a table would be wider than a terminal, the widest columns give way.
void fit(std::vector<std::size_t>& widths) {
  constexpr std::size_t kNarrow = 10;
  std::size_t total = 0;
  for (const std::size_t width : widths) total += width + 2;
  for (; total > kTerminalColumns + 2; --total) {
    const auto widest = std::ranges::max_element(widths);
    if (*widest <= kNarrow) return;
    --*widest;
  }
}

}  // namespace

std::string latex_text(std::string_view unsafe) {
  const std::string shown = shown_text(unsafe);
  const std::string_view text = shown;
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
    } else if (c == '<') {
      safe += "\\textless{}";
    } else if (c == '>') {
      safe += "\\textgreater{}";
    } else if (c == '|') {
      safe += "\\textbar{}";
    } else {
      safe += c;
    }
  }
  return safe;
}

std::string to_columns(const TextTable& cells) {
  std::vector<std::size_t> widths;
  for (std::size_t c = 0; c < cells.header.size(); ++c) {
    widths.push_back(shown_columns(cells.header[c]));
    for (const auto& row : cells.rows) widths[c] = std::max(widths[c], shown_columns(shown_text(row[c])));
  }
  fit(widths);
  std::string out;
  const auto add = [&](const std::vector<std::string>& row) {
    std::vector<std::vector<std::string>> lines;  // of each cell
    std::size_t height = 1;
    for (std::size_t c = 0; c < row.size(); ++c) {
      lines.push_back(wrapped(shown_text(row[c]), widths[c]));
      height = std::max(height, lines.back().size());
    }
    for (std::size_t i = 0; i < height; ++i) {
      std::string line;
      for (std::size_t c = 0; c < row.size(); ++c) {
        const std::string cell = i < lines[c].size() ? lines[c][i] : std::string();
        line += cell + std::string(widths[c] - shown_columns(cell) + 2, ' ');
      }
      line.erase(line.find_last_not_of(' ') + 1);
      out += line + "\n";
    }
  };
  add(cells.header);
  for (const auto& row : cells.rows) add(row);
  return out;
}

std::string markdown_text(std::string_view text) {
  std::string safe;
  for (const char c : shown_text(text)) {
    if (std::string_view("|\\`*_<>[]&~#$").find(c) != std::string_view::npos) safe += '\\';
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
  // Without a header it is a list of words, which may be long.
  const bool list = std::ranges::all_of(cells.header, &std::string::empty);
  std::string out = fmt::format("% {}\n\\begin{{tabular}}{{l{}}}\n\\toprule\n", shown_text(cells.title),
                                list ? "p{0.7\\linewidth}" : std::string(cells.header.size() - 1, 'r'));
  if (!list) out += line(cells.header) + "\\midrule\n";
  for (const auto& row : cells.rows) out += line(row);
  return out + "\\bottomrule\n\\end{tabular}\n";
}

}  // namespace muster
