#include "engine/reproduction_text.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "base/file.h"
#include "base/names.h"
#include "recipe/toml_text.h"

namespace muster {
namespace {

std::string shown(const std::optional<double>& value, int digits) {
  if (!value) return "-";
  return std::isinf(*value) ? std::string("never") : fmt::format("{:.{}f}", *value, digits);
}

std::string ours(const ReproducedCell& cell) {
  const std::string text = shown(cell.ours, cell.digits);
  return cell.deviation ? fmt::format("{} ± {}", text, shown(cell.deviation, cell.digits)) : text;
}

std::string shown_difference(const ReproducedCell& cell) {
  const std::optional<double> value = difference(cell);
  return value ? fmt::format("{:+.{}f}", *value, cell.digits) : "";
}

std::string column_title(const ReproducedCell& cell) {
  return cell.unit.empty() ? cell.column : fmt::format("{}, {}", cell.column, cell.unit);
}

// "±" is one column wide and two bytes long.
std::size_t width(const std::string& text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

std::string padded(const std::string& text, std::size_t to, bool right) {
  const std::string blanks(to > width(text) ? to - width(text) : 0, ' ');
  return right ? blanks + text : text + blanks;
}

using Line = std::vector<std::string>;

// Numbers stand to the right, words to the left.
std::string aligned(const std::vector<Line>& lines) {
  constexpr std::size_t kFirstNumber = 2;
  constexpr std::size_t kNote = 5;
  std::vector<std::size_t> widths(kNote + 1);
  for (const Line& line : lines) {
    for (std::size_t i = 0; i < line.size() && line.size() > 1; ++i) widths[i] = std::max(widths[i], width(line[i]));
  }
  std::string text;
  for (const Line& line : lines) {
    std::string row;
    for (std::size_t i = 0; i < line.size(); ++i) {
      row += "  " + padded(line[i], widths[i], i >= kFirstNumber && i < kNote);
    }
    row.erase(row.find_last_not_of(' ') + 1);
    text += (line.size() > 1 ? row : line.front()) + "\n";
  }
  return text;
}

// What is not run at this scale, in a line; "" = all is.
std::string left_out_line(const Reproduction& one) {
  return one.left_out.empty() ? "" : fmt::format("not part of {}: {}", one.scale, fmt::join(one.left_out, "; "));
}

std::string judgement_of(const std::map<std::string, std::string>& judgements, const std::string& target) {
  const auto found = judgements.find(target);
  return found == judgements.end() ? "Not judged yet." : found->second;
}

void add_table(std::string& page, const Reproduction& one) {
  std::string block;
  page += "| setting | row | | ours | paper | difference | note |\n|---|---|---|---|---|---|---|\n";
  for (const ReproducedCell& cell : one.cells) {
    const std::string setting =
        cell.setting_note.empty() ? cell.block : fmt::format("{} ({})", cell.block, cell.setting_note);
    page +=
        fmt::format("| {} | {} | {} | {} | {} | {} | {} |\n", cell.block == block ? "" : setting, cell.row,
                    column_title(cell), ours(cell), shown(cell.paper, cell.digits), shown_difference(cell), cell.note);
    block = cell.block;
  }
}

}  // namespace

std::string to_plain_text(const Reproduction& one) {
  std::vector<Line> lines{{fmt::format("{} at {}: {}", one.target, one.scale, one.title)},
                          {"", "", "ours", "paper", "difference", ""}};
  std::string block;
  std::string row;
  for (const ReproducedCell& cell : one.cells) {
    if (lines.size() == 2 || cell.block != block) {
      block = cell.block;
      row.clear();
      lines.push_back({cell.setting_note.empty() ? block : fmt::format("{} ({})", block, cell.setting_note)});
    }
    lines.push_back({cell.row == row ? "" : cell.row, column_title(cell), ours(cell), shown(cell.paper, cell.digits),
                     shown_difference(cell), cell.note});
    row = cell.row;
  }
  std::string text = aligned(lines);
  if (!one.says.empty()) text += fmt::format("in the paper: {}\n", one.says);
  if (!one.remark.empty()) text += fmt::format("its numbers: {}\n", one.remark);
  for (const std::string& line : one.differs) text += fmt::format("differs in {}\n", line);
  if (!one.left_out.empty()) text += left_out_line(one) + "\n";
  return text;
}

std::string results_page(const std::vector<Reproduction>& reproductions,
                         const std::map<std::string, std::string>& judgements, const std::string& commit) {
  std::string page =
      "# Results: the papers' tables and figures\n\n"
      "Made by `muster reproduce --write-docs docs/results.md` from the stored results of `muster reproduce TARGET "
      "--scale "
      "small`; the sentences of judgement are in docs/judgements.toml. [reproduce.md](reproduce.md) says what a target "
      "is.\n";
  if (!commit.empty()) page += fmt::format("Commit {}.\n", commit);
  for (const Reproduction& one : reproductions) {
    page += fmt::format("\n## {}\n\n{} {}, {}.\n\n**{}**\n\n", one.target, one.title + ".", one.date,
                        counted(one.all_runs, "run"), judgement_of(judgements, one.target));
    add_table(page, one);
    page += "\n";
    if (!one.says.empty()) page += fmt::format("In the paper: {}.\n\n", one.says);
    if (!one.remark.empty()) page += fmt::format("Its numbers: {}.\n\n", one.remark);
    for (const std::string& line : one.differs) page += fmt::format("- differs in {}\n", line);
    if (!one.left_out.empty()) page += fmt::format("- {}\n", left_out_line(one));
  }
  return page;
}

Result<std::map<std::string, std::string>> read_judgements(const std::filesystem::path& file) {
  MUSTER_ASSIGN(const std::vector<std::uint8_t> bytes, read_file(file, std::uint64_t{1} << 20));
  MUSTER_ASSIGN(const toml::table document,
                parse_toml({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, file.string()));
  const std::vector<std::string> names = target_names();
  std::map<std::string, std::string> judgements;
  for (const auto& [key, node] : document) {
    const std::string target(key.str());
    const auto line = node.source().begin.line;
    if (std::ranges::find(names, target) == names.end()) {
      return usage_error("{}:{}: {}", file.string(), line, unknown_name("target", target, names));
    }
    const auto sentence = node.value_exact<std::string>();
    if (!sentence) return usage_error("{}:{}: {}: want a sentence", file.string(), line, target);
    judgements[target] = *sentence;
  }
  return judgements;
}

}  // namespace muster
