#include "report/report_text.h"

#include <array>
#include <cmath>
#include <map>

#include "base/csv_cell.h"
#include "engine/text_table.h"
#include "report/plot.h"

namespace muster {
namespace {

constexpr std::size_t kShortRows = 12;
constexpr std::size_t kMostBarRows = 40;
constexpr std::size_t kMostHeatColumns = 20;

std::string unit_text(const std::optional<double>& value, Unit unit) {
  return value ? number_text(*value, unit) : std::string("-");
}

TextTable table_of(const Figure& figure, const TableFigure& table) {
  TextTable text{.title = figure.title, .header = {}, .rows = {}};
  for (const Axis& column : table.columns) text.header.push_back(column.label);
  for (const auto& cells : table.rows) {
    auto& row = text.rows.emplace_back();
    for (std::size_t c = 0; c < cells.size(); ++c) {
      row.push_back(cells[c].number ? number_text(*cells[c].number, table.columns[c].unit) : cells[c].text);
    }
    row.resize(text.header.size());
  }
  return text;
}

// A few rounds of all curves, evenly.
TextTable table_of(const Figure& figure, const LineFigure& lines) {
  TextTable text{.title = figure.title, .header = {lines.x[0].label}, .rows = {}};
  std::map<double, std::vector<std::string>> rows;  // without their first cell, the place
  for (std::size_t n = 0; n < lines.series.size(); ++n) {
    const Series& series = lines.series[n];
    text.header.push_back(series.name);
    for (std::size_t i = 0; i < series.y.size(); ++i) {
      if (!series.x[0][i]) continue;
      std::vector<std::string>& row = rows[*series.x[0][i]];
      row.resize(lines.series.size(), "-");
      row[n] = unit_text(series.y[i], lines.y.unit);
      if (!series.low.empty() && series.low[i] && series.high[i]) {
        row[n] += fmt::format(" ({} to {})", number_text(*series.low[i], lines.y.unit),
                              number_text(*series.high[i], lines.y.unit));
      }
    }
  }
  std::size_t index = 0;
  const std::size_t last = rows.empty() ? 0 : rows.size() - 1;
  std::size_t chosen = 0;
  for (const auto& [x, cells] : rows) {
    const std::size_t wanted = last < kShortRows ? index : chosen * last / (kShortRows - 1);
    if (index++ != wanted) continue;
    ++chosen;
    auto& row = text.rows.emplace_back(1, number_text(x, lines.x[0].unit));
    row.insert(row.end(), cells.begin(), cells.end());
  }
  return text;
}

TextTable table_of(const Figure& figure, const BarFigure& bars) {
  TextTable text{.title = figure.title, .header = {bars.categories_axis.label}, .rows = {}};
  for (const BarFigure::Part& part : bars.parts) text.header.push_back(part.name);
  for (std::size_t i = 0; i < bars.categories.size() && i < kMostBarRows; ++i) {
    auto& row = text.rows.emplace_back(1, bars.categories[i]);
    for (const BarFigure::Part& part : bars.parts)
      row.push_back(i < part.values.size() ? unit_text(part.values[i], bars.values_axis.unit) : "-");
  }
  return text;
}

std::optional<TextTable> table_of(const Figure& figure, const HeatFigure& heat) {
  if (heat.columns.size() > kMostHeatColumns) return std::nullopt;
  TextTable text{.title = figure.title, .header = {heat.rows_axis.label + " / " + heat.columns_axis.label}, .rows = {}};
  text.header.insert(text.header.end(), heat.columns.begin(), heat.columns.end());
  for (std::size_t i = 0; i < heat.rows.size() && i < kMostBarRows; ++i) {
    auto& row = text.rows.emplace_back(1, heat.rows[i]);
    for (const auto& value : heat.values[i]) row.push_back(unit_text(value, heat.values_axis.unit));
    row.resize(text.header.size());
  }
  return text;
}

std::optional<TextTable> table_of(const Figure& figure) {
  if (figure.table) return table_of(figure, *figure.table);
  if (figure.lines) return table_of(figure, *figure.lines);
  if (figure.bars) return table_of(figure, *figure.bars);
  return table_of(figure, *figure.heat);
}

// By the figure: the pictures of it, of which curves have one per x axis.
std::map<std::string, std::vector<std::string>> pictures_of(const Report& report) {
  std::map<std::string, std::vector<std::string>> names;
  for (const PlotFile& file : plots_of(report)) names[file.figure->id].push_back(file.name);
  return names;
}

}  // namespace

std::string to_markdown(const Report& report, const std::string& plots) {
  std::string out = fmt::format("# {}\n\n", markdown_text(report.title));
  TextTable facts{.title = "", .header = {"", ""}, .rows = {}};
  for (const Fact& fact : report.facts) facts.rows.push_back({fact.name, fact.value});
  out += to_markdown(facts);
  if (!report.notes.empty()) out += "\n";
  for (const std::string& note : report.notes) out += "- " + markdown_text(note) + "\n";
  const auto pictures = pictures_of(report);
  for (const ReportSection& section : report.sections) {
    out += fmt::format("\n## {}\n", markdown_text(section.title));
    for (const Figure& figure : section.figures) {
      out += fmt::format("\n**{}**\n\n", markdown_text(figure.title));
      if (!figure.caption.empty()) out += markdown_text(figure.caption) + "\n\n";
      if (!plots.empty() && !figure.table) {
        for (const std::string& name : pictures.at(figure.id))
          out += fmt::format("![{}](<{}/{}.svg>)\n", name, plots, name);
      } else if (const auto table = table_of(figure)) {
        out += to_markdown(*table);
      } else {
        out += "(a matrix that is too large for a table; `--plots DIR` draws it)\n";
      }
    }
  }
  out += "\n## Record\n";
  for (const ReportedRun& run : report.runs) {
    out += fmt::format("\n- {}: {}, seed {}, {}, signature {}; repeat it with {}\n", markdown_text(run.run),
                       markdown_text(run.method), run.seed, run.state,
                       run.signature.empty() ? "none yet" : markdown_text(run.signature), markdown_text(run.command));
  }
  return out;
}

std::string to_latex(const Report& report, const std::string& plots) {
  std::string out = "% Needs \\usepackage{booktabs}";
  out += plots.empty() ? "\n" : " and \\usepackage{graphicx}\n";
  TextTable facts{.title = shown_name(report.title), .header = {"", ""}, .rows = {}};
  for (const Fact& fact : report.facts) facts.rows.push_back({fact.name, fact.value});
  out += to_latex(facts);
  const auto pictures = pictures_of(report);
  for (const ReportSection& section : report.sections) {
    for (const Figure& figure : section.figures) {
      if (figure.table) {
        out += "\n" + to_latex(table_of(figure, *figure.table));
        if (!figure.caption.empty()) out += fmt::format("% {}\n", shown_name(figure.caption, 1000));
      } else if (!plots.empty()) {
        for (const std::string& name : pictures.at(figure.id))
          out += fmt::format("\n% {}\n\\includegraphics[width=\\linewidth]{{{}/{}.png}}\n", shown_name(figure.title),
                             plots, name);
      }
    }
  }
  return out;
}

std::string rounds_csv(const std::vector<MethodRuns>& methods) {
  struct Column {
    const char* name;
    double RecordedRound::*value;
  };
  constexpr std::array<Column, 21> kColumns = {{{"accuracy", &RecordedRound::accuracy},
                                                {"loss", &RecordedRound::loss},
                                                {"train_loss", &RecordedRound::train_loss},
                                                {"client_accuracy", &RecordedRound::client_accuracy},
                                                {"client_worst", &RecordedRound::client_worst},
                                                {"client_p10", &RecordedRound::client_p10},
                                                {"client_p50", &RecordedRound::client_p50},
                                                {"client_p90", &RecordedRound::client_p90},
                                                {"validation_accuracy", &RecordedRound::validation_accuracy},
                                                {"validation_loss", &RecordedRound::validation_loss},
                                                {"discrepancy", &RecordedRound::discrepancy},
                                                {"participants", &RecordedRound::participants},
                                                {"dropped", &RecordedRound::dropped},
                                                {"groups", &RecordedRound::groups},
                                                {"idle", &RecordedRound::idle},
                                                {"models", &RecordedRound::models},
                                                {"bytes_up_total", &RecordedRound::bytes_up},
                                                {"bytes_down_total", &RecordedRound::bytes_down},
                                                {"compute_total_s", &RecordedRound::compute_s},
                                                {"cost_total_s", &RecordedRound::cost_s},
                                                {"wall_total_s", &RecordedRound::wall_s}}};
  std::string out = "run,method,seed,round";
  for (const Column& column : kColumns) out += fmt::format(",{}", column.name);
  out += "\n";
  for (const MethodRuns& method : methods) {
    for (const RunRecords& run : method.runs) {
      const std::string head = fmt::format("{},{},{}", csv_cell(run.run), csv_cell(method.label), run.seed);
      for (const RecordedRound& round : run.rounds) {
        out += fmt::format("{},{}", head, round.round);
        for (const Column& column : kColumns) {
          const double value = round.*column.value;
          out += std::isfinite(value) ? fmt::format(",{}", value) : ",";
        }
        out += "\n";
      }
    }
  }
  return out;
}

}  // namespace muster
