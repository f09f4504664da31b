#include "engine/comparison_text.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "base/csv_cell.h"
#include "data/shown_text.h"
#include "data/wrapped_text.h"

namespace muster {
namespace {

std::string joined(const std::vector<std::string>& parts) {
  return fmt::format("{}", fmt::join(parts, " "));
}

// "81.20 ± 0.45", each times `scale`; "n/a" of nothing.
std::string spread_cell(const SeedSpread& spread, double scale, int digits) {
  if (!spread.mean) return "n/a";
  const std::string mean = fmt::format("{:.{}f}", *spread.mean * scale, digits);
  return spread.deviation ? fmt::format("{} ± {:.{}f}", mean, *spread.deviation * scale, digits) : mean;
}

// As many digits as tell sums of very different sizes.
int digits_for(const SeedSpread& spread, double scale) {
  const double size = spread.mean.value_or(0) * scale;
  return size >= 100 ? 0 : size >= 1 ? 1 : 3;
}

std::string sum_cell(const SeedSpread& spread, double scale) {
  return spread_cell(spread, scale, digits_for(spread, scale));
}

bool has_settings(const ComparisonTable& table) {
  return std::ranges::any_of(table.methods, [](const MethodFigures& method) { return !method.settings.empty(); });
}

std::string method_cell(const MethodFigures& method, std::size_t seeds) {
  if (method.diverged == 0) return method.label;
  return fmt::format("{} ({} of {} diverged)", method.label, method.diverged, seeds);
}

TextTable methods_of(const ComparisonTable& table) {
  TextTable cells{.title = "Accuracy",
                  .header = {"method", "last %", "best %", fmt::format("mean of last {} %", table.tail), "wall s"},
                  .rows = {}};
  if (has_settings(table)) cells.header.push_back("chosen on validation");
  for (const MethodFigures& method : table.methods) {
    std::vector<std::string> row{method_cell(method, table.seeds.size()), spread_cell(method.last, 100, 2),
                                 spread_cell(method.best, 100, 2), spread_cell(method.tail, 100, 2),
                                 sum_cell(method.wall_s, 1)};
    if (has_settings(table)) row.push_back(method.settings.empty() ? "-" : joined(method.settings));
    cells.rows.push_back(std::move(row));
  }
  return cells;
}

TextTable targets_of(const ComparisonTable& table) {
  TextTable cells{.title = "To reach a target",
                  .header = {"method", "target %", "rounds", "MB both ways", "simulated s", "reached"},
                  .rows = {}};
  for (std::size_t t = 0; t < table.methods.front().to_target.size(); ++t) {
    for (const MethodFigures& method : table.methods) {
      const TargetFigures& target = method.to_target[t];
      cells.rows.push_back({method.label, fmt::format("{:.2f}", 100 * target.accuracy), sum_cell(target.rounds, 1),
                            sum_cell(target.bytes, 1e-6), sum_cell(target.cost_s, 1),
                            fmt::format("in {} of {}", target.reached, table.seeds.size())});
    }
  }
  return cells;
}

TextTable differences_of(const ComparisonTable& table) {
  TextTable cells{.title = "Differences of the last accuracy, seed by seed",
                  .header = {"pair", "mean, points", "better in", "sign test p"},
                  .rows = {}};
  for (const MethodDifference& d : table.differences) {
    cells.rows.push_back({fmt::format("{} - {}", d.a, d.b),
                          d.of_last.mean ? fmt::format("{:+.2f}", 100 * *d.of_last.mean) : "n/a",
                          fmt::format("{} of {}", d.of_last.better, d.of_last.pairs),
                          d.of_last.p ? fmt::format("{:.4f}", *d.of_last.p) : "n/a"});
  }
  return cells;
}

std::string head_line(const ComparisonTable& table) {
  std::string line = table.task.empty() ? std::string() : "task " + table.task + ", ";
  line += fmt::format("{} {}", table.seeds.size() == 1 ? "seed" : "seeds", fmt::join(table.seeds, ", "));
  if (table.seeds.size() > 1) line += ": mean ± standard deviation of the seeds";
  return line;
}

std::string csv_number(const std::optional<double>& value) {
  return value ? fmt::format("{}", *value) : std::string();
}

void add_spread(std::vector<std::string>& line, const SeedSpread& spread) {
  line.push_back(csv_number(spread.mean));
  line.push_back(csv_number(spread.deviation));
}

std::string csv_line(const std::vector<std::string>& cells) {
  std::vector<std::string> safe;
  for (const std::string& cell : cells) safe.push_back(csv_cell(cell));
  return fmt::format("{}\n", fmt::join(safe, ","));
}

std::vector<std::string> csv_header(const ComparisonTable& table) {
  std::vector<std::string> header{"method",    "settings", "seeds",     "diverged", "last_mean",   "last_std",
                                  "best_mean", "best_std", "tail_mean", "tail_std", "wall_s_mean", "wall_s_std"};
  for (const TargetFigures& target : table.methods.front().to_target) {
    for (const char* const figure :
         {"reached", "rounds_mean", "rounds_std", "bytes_mean", "bytes_std", "cost_s_mean", "cost_s_std"}) {
      header.push_back(fmt::format("{}_to_{}", figure, target.accuracy));
    }
  }
  for (const char* const figure : {"difference_to_first", "better_in", "p"}) header.emplace_back(figure);
  return header;
}

const MethodDifference* against_first(const ComparisonTable& table, const std::string& label) {
  const auto found = std::ranges::find_if(
      table.differences, [&](const MethodDifference& d) { return d.a == label && d.b == table.methods.front().label; });
  return found == table.differences.end() ? nullptr : &*found;
}

std::vector<std::string> csv_row(const ComparisonTable& table, const MethodFigures& method) {
  std::vector<std::string> line{method.label, joined(method.settings), std::to_string(table.seeds.size()),
                                std::to_string(method.diverged)};
  for (const SeedSpread* const spread : {&method.last, &method.best, &method.tail, &method.wall_s})
    add_spread(line, *spread);
  for (const TargetFigures& target : method.to_target) {
    line.push_back(std::to_string(target.reached));
    for (const SeedSpread* const spread : {&target.rounds, &target.bytes, &target.cost_s}) add_spread(line, *spread);
  }
  const MethodDifference* const difference = against_first(table, method.label);
  line.push_back(difference ? csv_number(difference->of_last.mean) : "");
  line.push_back(difference ? std::to_string(difference->of_last.better) : "");
  line.push_back(difference ? csv_number(difference->of_last.p) : "");
  return line;
}

}  // namespace

std::vector<TextTable> tables_of(const ComparisonTable& table) {
  std::vector<TextTable> all{methods_of(table)};
  for (TextTable cells : {targets_of(table), differences_of(table)}) {
    if (!cells.rows.empty()) all.push_back(std::move(cells));
  }
  return all;
}

std::string to_plain_text(const ComparisonTable& table) {
  std::string out;
  const auto add = [&out](const std::string& text) {
    for (const std::string& line : wrapped(text, kTerminalColumns)) out += line + "\n";
  };
  add(shown_text(head_line(table)));
  for (const TextTable& cells : tables_of(table)) out += fmt::format("\n{}\n{}", cells.title, to_columns(cells));
  if (!table.notes.empty()) out += "\n";
  for (const std::string& note : table.notes) add("note: " + shown_text(note));
  return out;
}

std::string to_markdown(const ComparisonTable& table) {
  std::string out = markdown_text(head_line(table)) + "\n";
  for (const TextTable& cells : tables_of(table)) out += fmt::format("\n**{}**\n\n{}", cells.title, to_markdown(cells));
  if (!table.notes.empty()) out += "\n";
  for (const std::string& note : table.notes) out += "- " + markdown_text(note) + "\n";
  return out;
}

std::string to_latex(const ComparisonTable& table) {
  std::string out = "% " + shown_text(head_line(table)) + "; needs \\usepackage{booktabs}\n";
  for (const TextTable& cells : tables_of(table)) out += to_latex(cells);
  for (const std::string& note : table.notes) out += "% note: " + shown_text(note) + "\n";
  return out;
}

std::string to_csv(const ComparisonTable& table) {
  std::string out = csv_line(csv_header(table));
  for (const MethodFigures& method : table.methods) out += csv_line(csv_row(table, method));
  return out;
}

}  // namespace muster
