// Figure: a chart or a table as values, whoever draws it: the browser (charts.js), the plots for papers (plot.h), or a
// table in a text. A figure is bounded in size by whoever makes it, and all text in it is fit to be shown.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

namespace muster {

// How numbers along an axis or in a column are written.
enum class Unit { kNone, kShare, kCount, kSeconds, kBytes };

struct Axis {
  std::string label;
  Unit unit = Unit::kNone;
  std::string key = {};  // a word for it, of those of which one is chosen
};

using Numbers = std::vector<std::optional<double>>;

// A curve; all of its vectors have one size, or are empty.
struct Series {
  std::string name;
  std::vector<Numbers> x;  // one for each of the figure's x axes
  Numbers y;
  Numbers low = {};  // of a band around it, where there is one
  Numbers high = {};
  bool dashed = false;
};

// Curves over one of several x axes, of which the reader chooses.
struct LineFigure {
  std::vector<Axis> x;
  Axis y;
  std::vector<Series> series;
};

// A bar per category, stacked of the series.
struct BarFigure {
  struct Part {
    std::string name;
    Numbers values;           // one for each category
    std::string colour = {};  // "#rrggbb"; empty: whatever comes next
  };
  Axis categories_axis;
  Axis values_axis;
  std::vector<std::string> categories;
  std::vector<Part> parts;
};

// A matrix in shades.
struct HeatFigure {
  Axis rows_axis;
  Axis columns_axis;
  Axis values_axis;
  std::vector<std::string> rows;
  std::vector<std::string> columns;
  std::vector<Numbers> values;  // a list for each row
  bool strong_low = false;      // small numbers are drawn in the strong colour
};

struct Cell {
  std::string text = {};
  std::optional<double> number = {};  // written by the column's unit; where there is none, the text
};

struct TableFigure {
  std::vector<Axis> columns;
  std::vector<std::vector<Cell>> rows;
};

struct Figure {
  std::string id;  // of letters, digits and dashes; unique within a description
  std::string title;
  std::string caption = {};              // what is to be known about it, in a sentence or two
  std::optional<LineFigure> lines = {};  // one of these four is there
  std::optional<BarFigure> bars = {};
  std::optional<HeatFigure> heat = {};
  std::optional<TableFigure> table = {};
};

// Numbers to six digits; what is not finite is null. The fields are in docs/report.md.
[[nodiscard]] nlohmann::json to_json(const Figure& figure);

// "82.3 %", "1.2 MB", "340 s", "1234".
[[nodiscard]] std::string number_text(double value, Unit unit);

}  // namespace muster
