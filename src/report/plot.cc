#include "report/plot.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/file.h"
#include "grouping/group_picture.h"

namespace muster {
namespace {

constexpr double kWidth = 520;  // of a picture
constexpr double kPlotHeight = 260;
constexpr double kTop = 34;  // the title's line
constexpr double kRight = 16;
constexpr double kSize = 12;
constexpr double kLegendLine = 17;
constexpr double kBelow = 44;  // ticks and the axis' label
constexpr Colour kGrid = {226, 229, 233};
constexpr Colour kFrame = {110, 118, 128};
constexpr std::size_t kMostLegend = 24;

// As in charts.css; on white all of them have a contrast of at least 4.5.
Colour series_colour(std::size_t index) {
  constexpr std::array<Colour, 8> kColours = {{{0, 99, 168},
                                               {192, 74, 0},
                                               {0, 120, 90},
                                               {138, 62, 168},
                                               {122, 92, 0},
                                               {184, 51, 106},
                                               {0, 112, 133},
                                               {77, 77, 77}}};
  return kColours[index % kColours.size()];
}

Colour parsed_colour(const std::string& text, std::size_t index) {
  unsigned red = 0;
  unsigned green = 0;
  unsigned blue = 0;
  if (text.size() != 7 || std::sscanf(text.c_str(), "#%2x%2x%2x", &red, &green, &blue) != 3)
    return series_colour(index);
  return {static_cast<std::uint8_t>(red), static_cast<std::uint8_t>(green), static_cast<std::uint8_t>(blue)};
}

std::string tick_text(double value, Unit unit) {
  if (unit == Unit::kShare) return fmt::format("{:.4g} %", 100 * value);
  if (unit == Unit::kSeconds) return fmt::format("{:.5g}", value);
  return number_text(value, unit);
}

std::string axis_text(const Axis& axis) {
  return axis.unit == Unit::kSeconds ? axis.label + " (s)" : axis.label;
}

// Where numbers go along a side of the plot.
struct Scale {
  double low = 0;
  double high = 1;
  std::vector<double> ticks;
  Unit unit = Unit::kNone;

  Scale(double from, double to, std::size_t most, Unit in, bool from_zero) : unit(in) {
    if (from > to) std::tie(from, to) = std::pair(0.0, 1.0);
    if (from_zero) from = std::min(from, 0.0);
    if (from == to) to = from + (from == 0 ? 1 : std::abs(from) / 10);
    ticks = axis_ticks(from, to, most);
    low = std::min(from, ticks.front());
    high = std::max(to, ticks.back());
  }
  [[nodiscard]] double share(double value) const { return (value - low) / (high - low); }
  [[nodiscard]] double widest() const {
    double width = 0;
    for (const double tick : ticks) width = std::max(width, text_width(tick_text(tick, unit), kSize));
    return width;
  }
};

struct LegendEntry {
  std::string name;
  Colour colour;
  bool dashed = false;
  bool box = false;
};

// In as many columns as fit, below the plot.
struct Legend {
  std::vector<LegendEntry> entries;
  std::size_t columns = 1;
  double column = 0;

  explicit Legend(std::vector<LegendEntry> list) : entries(std::move(list)) {
    double widest = 0;
    for (LegendEntry& entry : entries) {
      entry.name = shortened(entry.name, kWidth - 60, kSize);
      widest = std::max(widest, text_width(entry.name, kSize));
    }
    column = widest + 46;
    columns = std::max<std::size_t>(1, static_cast<std::size_t>((kWidth - 20) / column));
  }
  [[nodiscard]] double height() const {
    return entries.size() < 2 ? 0 : kLegendLine * static_cast<double>((entries.size() + columns - 1) / columns) + 6;
  }
  void draw(Canvas& canvas, double top) const {
    if (entries.size() < 2) return;
    for (std::size_t i = 0; i < entries.size(); ++i) {
      const LegendEntry& entry = entries[i];
      const double x = 20 + column * static_cast<double>(i % columns);
      const double y = top + kLegendLine * (static_cast<double>(i / columns) + 0.5);
      if (entry.box) {
        canvas.fill(x + 8, y - 5, 12, 10, entry.colour);
      } else {
        const std::array<CanvasPoint, 2> ends = {{{x, y}, {x + 22, y}}};
        canvas.line(ends, {.width = 2, .colour = entry.colour, .dashed = entry.dashed});
      }
      canvas.text(x + 28, y, entry.name, {.size = kSize});
    }
  }
};

// What curves and bars have in common: title, y axis with its grid, frame.
struct Plot {
  double left;
  double right = kWidth - kRight;
  double top = kTop;
  double bottom = kTop + kPlotHeight;

  explicit Plot(const Scale& y) : left(40 + y.widest()) {}
  [[nodiscard]] double x(double share) const { return left + (right - left) * share; }
  [[nodiscard]] double y(double share) const { return bottom - (bottom - top) * share; }

  void draw_back(Canvas& canvas, const std::string& title, const Axis& axis, const Scale& scale) const {
    canvas.text(left, 16, shortened(title, right - left, 14), {.size = 14});
    for (const double tick : scale.ticks) {
      const double at = y(scale.share(tick));
      const std::array<CanvasPoint, 2> ends = {{{left, at}, {right, at}}};
      canvas.line(ends, {.width = 0.7, .colour = kGrid});
      canvas.text(left - 6, at, tick_text(tick, scale.unit), {.size = kSize, .anchor = Anchor::kEnd});
    }
    canvas.text(14, (top + bottom) / 2, axis_text(axis), {.size = kSize, .anchor = Anchor::kMiddle, .upwards = true});
  }
  void draw_frame(Canvas& canvas) const { canvas.frame(left, top, right - left, bottom - top, kFrame); }
};

void widen(const Numbers& values, double& low, double& high) {
  for (const auto& value : values) {
    if (!value || !std::isfinite(*value)) continue;
    low = std::min(low, *value);
    high = std::max(high, *value);
  }
}

Drawing draw_lines(const Figure& figure, std::size_t x_axis) {
  const LineFigure& lines = *figure.lines;
  double x_low = INFINITY;
  double x_high = -INFINITY;
  double y_low = INFINITY;
  double y_high = -INFINITY;
  std::vector<LegendEntry> entries;
  for (const Series& series : lines.series) {
    widen(series.x[x_axis], x_low, x_high);
    for (const Numbers* values : {&series.y, &series.low, &series.high}) widen(*values, y_low, y_high);
    if (entries.size() < kMostLegend) entries.push_back({series.name, series_colour(entries.size()), series.dashed});
  }
  const Scale x(x_low, x_high, 7, lines.x[x_axis].unit, false);
  const Scale y(y_low, y_high, 6, lines.y.unit, false);
  const Legend legend(std::move(entries));
  const Plot plot(y);
  return {.width = kWidth,
          .height = plot.bottom + kBelow + legend.height() + 4,
          .draw = [&figure, x_axis, x, y, legend, plot](Canvas& canvas) {
            const LineFigure& drawn = *figure.lines;
            plot.draw_back(canvas, figure.title, drawn.y, y);
            for (const double tick : x.ticks) {
              if (tick < x.low || tick > x.high) continue;
              const std::array<CanvasPoint, 2> ends = {
                  {{plot.x(x.share(tick)), plot.bottom}, {plot.x(x.share(tick)), plot.bottom + 4}}};
              canvas.line(ends, {.width = 1, .colour = kFrame});
              canvas.text(ends[0].x, plot.bottom + 14, tick_text(tick, x.unit),
                          {.size = kSize, .anchor = Anchor::kMiddle});
            }
            canvas.text((plot.left + plot.right) / 2, plot.bottom + 33, axis_text(drawn.x[x_axis]),
                        {.size = kSize, .anchor = Anchor::kMiddle});
            for (std::size_t s = 0; s < drawn.series.size(); ++s) {
              const Series& series = drawn.series[s];
              std::vector<CanvasPoint> band;
              for (std::size_t i = 0; i < series.low.size(); ++i) {
                if (series.low[i] && series.x[x_axis][i])
                  band.push_back({plot.x(x.share(*series.x[x_axis][i])), plot.y(y.share(*series.low[i]))});
              }
              for (std::size_t i = series.high.size(); i-- > 0;) {
                if (series.high[i] && series.x[x_axis][i])
                  band.push_back({plot.x(x.share(*series.x[x_axis][i])), plot.y(y.share(*series.high[i]))});
              }
              if (!band.empty()) canvas.area(band, series_colour(s), 0.18);
            }
            for (std::size_t s = 0; s < drawn.series.size(); ++s) {
              const Series& series = drawn.series[s];
              std::vector<CanvasPoint> points;
              for (std::size_t i = 0; i < series.y.size(); ++i) {
                if (series.y[i] && series.x[x_axis][i])
                  points.push_back({plot.x(x.share(*series.x[x_axis][i])), plot.y(y.share(*series.y[i]))});
              }
              if (points.size() == 1) canvas.fill(points[0].x - 2, points[0].y - 2, 4, 4, series_colour(s));
              canvas.line(points, {.width = 1.6, .colour = series_colour(s), .dashed = series.dashed});
            }
            plot.draw_frame(canvas);
            legend.draw(canvas, plot.bottom + kBelow);
          }};
}

Drawing draw_bars(const Figure& figure) {
  const BarFigure& bars = *figure.bars;
  double high = 0;
  double longest = 0;
  for (std::size_t i = 0; i < bars.categories.size(); ++i) {
    double sum = 0;
    for (const BarFigure::Part& part : bars.parts)
      sum += i < part.values.size() ? std::max(0.0, part.values[i].value_or(0)) : 0;
    high = std::max(high, sum);
    longest = std::max(longest, text_width(shortened(bars.categories[i], 100, kSize), kSize));
  }
  std::vector<LegendEntry> entries;
  for (std::size_t p = 0; p < bars.parts.size() && p < kMostLegend; ++p) {
    entries.push_back({bars.parts[p].name, parsed_colour(bars.parts[p].colour, p), false, true});
  }
  const Scale y(0, high, 6, bars.values_axis.unit, true);
  const Legend legend(std::move(entries));
  const Plot plot(y);
  const auto count = static_cast<double>(std::max<std::size_t>(1, bars.categories.size()));
  const double slot = (plot.right - plot.left) / count;
  const bool across = longest + 8 <= slot;
  const double names = across ? 14 : std::min(longest, 100.0) + 8;
  // Names upwards need a line each.
  const auto step = static_cast<std::size_t>(across ? 1 : std::max(1.0, std::ceil((kSize + 3) / slot)));
  return {.width = kWidth,
          .height = plot.bottom + names + 26 + legend.height(),
          .draw = [&figure, y, legend, plot, slot, across, names, step](Canvas& canvas) {
            const BarFigure& drawn = *figure.bars;
            plot.draw_back(canvas, figure.title, drawn.values_axis, y);
            const double width = slot * (slot > 4 ? 0.84 : 1);
            for (std::size_t i = 0; i < drawn.categories.size(); ++i) {
              const double x = plot.left + slot * (static_cast<double>(i) + 0.5);
              double below = 0;
              for (std::size_t p = 0; p < drawn.parts.size(); ++p) {
                const double value =
                    i < drawn.parts[p].values.size() ? std::max(0.0, drawn.parts[p].values[i].value_or(0)) : 0;
                const double from = plot.y(y.share(below));
                below += value;
                const double to = plot.y(y.share(below));
                if (from > to)
                  canvas.fill(x - width / 2, to, width, from - to - (from - to > 3 && drawn.parts.size() > 1 ? 0.5 : 0),
                              parsed_colour(drawn.parts[p].colour, p));
              }
              if (i % step != 0) continue;
              const std::string name = shortened(drawn.categories[i], 100, kSize);
              if (across) {
                canvas.text(x, plot.bottom + 12, name, {.size = kSize, .anchor = Anchor::kMiddle});
              } else {
                canvas.text(x, plot.bottom + 6, name, {.size = kSize, .anchor = Anchor::kEnd, .upwards = true});
              }
            }
            canvas.text((plot.left + plot.right) / 2, plot.bottom + names + 12, axis_text(drawn.categories_axis),
                        {.size = kSize, .anchor = Anchor::kMiddle});
            plot.draw_frame(canvas);
            legend.draw(canvas, plot.bottom + names + 24);
          }};
}

Colour heat_colour(double share) {
  constexpr std::array<Colour, 4> kScale = {{{255, 255, 255}, {169, 205, 234}, {47, 127, 193}, {8, 34, 84}}};
  const double at = std::clamp(share, 0.0, 1.0) * (kScale.size() - 1);
  const auto low = std::min(static_cast<std::size_t>(at), kScale.size() - 2);
  return blend(kScale[low], kScale[low + 1], at - static_cast<double>(low));
}

struct HeatLayout {
  double low = INFINITY;
  double high = -INFINITY;
  bool named = false;
  double left = 60;
  double below = 40;
  double cell = 1;

  explicit HeatLayout(const HeatFigure& heat) {
    for (const Numbers& row : heat.values) widen(row, low, high);
    if (heat.values_axis.unit == Unit::kShare || low > high) std::tie(low, high) = std::pair(0.0, 1.0);
    low = std::min(low, 0.0);
    if (low == high) high = low + 1;
    named = std::max(heat.rows.size(), heat.columns.size()) <= 40;
    double rows = 0;
    double columns = 0;
    for (const std::string& name : heat.rows) rows = std::max(rows, text_width(shortened(name, 110, kSize), kSize));
    for (const std::string& name : heat.columns)
      columns = std::max(columns, text_width(shortened(name, 110, kSize), kSize));
    if (named) left = 36 + rows;
    if (named) below = 30 + columns;
    const auto count = static_cast<double>(std::max<std::size_t>(1, std::max(heat.columns.size(), heat.rows.size())));
    cell = std::min(40.0, (kWidth - left - 90) / count);
  }
  [[nodiscard]] double share(const HeatFigure& heat, double value) const {
    const double part = (value - low) / (high - low);
    return heat.strong_low ? 1 - part : heat.values_axis.unit == Unit::kShare ? std::sqrt(std::max(0.0, part)) : part;
  }
};

Drawing draw_heat(const Figure& figure) {
  const HeatFigure& heat = *figure.heat;
  const HeatLayout at(heat);
  const double height = std::max(at.cell * static_cast<double>(heat.rows.size()), 150.0);
  return {
      .width = kWidth, .height = kTop + height + at.below + 12, .draw = [&figure, at](Canvas& canvas) {
        const HeatFigure& drawn = *figure.heat;
        canvas.text(20, 16, shortened(figure.title + ": " + drawn.values_axis.label, kWidth - 40, 14), {.size = 14});
        const double gap = at.cell >= 8 ? 0.8 : 0;
        for (std::size_t i = 0; i < drawn.values.size(); ++i) {
          for (std::size_t j = 0; j < drawn.values[i].size(); ++j) {
            const auto value = drawn.values[i][j];
            if (!value) continue;
            const Colour colour = heat_colour(at.share(drawn, *value));
            const double x = at.left + at.cell * static_cast<double>(j);
            const double y = kTop + at.cell * static_cast<double>(i);
            canvas.fill(x, y, at.cell - gap, at.cell - gap, colour);
            if (at.cell < 26 || drawn.columns.size() > 16) continue;
            const bool dark = 0.299 * colour.red + 0.587 * colour.green + 0.114 * colour.blue < 140;
            const std::string text = drawn.values_axis.unit == Unit::kShare ? fmt::format("{:.0f}", 100 * *value)
                                                                            : fmt::format("{:.3g}", *value);
            canvas.text(
                x + at.cell / 2, y + at.cell / 2, text,
                {.size = 10, .anchor = Anchor::kMiddle, .colour = dark ? Colour{255, 255, 255} : Colour{17, 17, 17}});
          }
        }
        const double columns = at.cell * static_cast<double>(drawn.columns.size());
        const double rows = at.cell * static_cast<double>(drawn.rows.size());
        canvas.frame(at.left, kTop, columns, rows, kFrame);
        const auto step = [&](std::size_t count) {
          return at.named ? static_cast<std::size_t>(std::max(1.0, std::ceil((kSize + 1) / at.cell)))
                          : std::max<std::size_t>(1, (count + 9) / 10);
        };
        for (std::size_t i = 0; i < drawn.rows.size(); i += step(drawn.rows.size())) {
          canvas.text(at.left - 6, kTop + at.cell * (static_cast<double>(i) + 0.5),
                      at.named ? shortened(drawn.rows[i], 110, kSize) : fmt::format("{}", i),
                      {.size = kSize, .anchor = Anchor::kEnd});
        }
        for (std::size_t j = 0; j < drawn.columns.size(); j += step(drawn.columns.size())) {
          const double x = at.left + at.cell * (static_cast<double>(j) + 0.5);
          if (at.named) {
            canvas.text(x, kTop + rows + 6, shortened(drawn.columns[j], 110, kSize),
                        {.size = kSize, .anchor = Anchor::kEnd, .upwards = true});
          } else {
            canvas.text(x, kTop + rows + 12, fmt::format("{}", j), {.size = kSize, .anchor = Anchor::kMiddle});
          }
        }
        canvas.text(at.left + columns / 2, kTop + rows + at.below - 4, axis_text(drawn.columns_axis),
                    {.size = kSize, .anchor = Anchor::kMiddle});
        canvas.text(12, kTop + rows / 2, axis_text(drawn.rows_axis),
                    {.size = kSize, .anchor = Anchor::kMiddle, .upwards = true});
        constexpr int kSteps = 40;
        const double x = at.left + columns + 16;
        const double height_of_scale = std::clamp(rows, 100.0, 200.0);
        for (int i = 0; i < kSteps; ++i) {
          const double value = at.low + (at.high - at.low) * (i + 0.5) / kSteps;
          canvas.fill(x, kTop + height_of_scale * (1 - (i + 1.0) / kSteps), 12, height_of_scale / kSteps,
                      heat_colour(at.share(drawn, value)));
        }
        canvas.frame(x, kTop, 12, height_of_scale, kFrame);
        for (const double share : {0.0, 0.5, 1.0}) {
          canvas.text(x + 17, kTop + 6 + (height_of_scale - 12) * (1 - share),
                      tick_text(at.low + (at.high - at.low) * share, drawn.values_axis.unit), {.size = kSize});
        }
      }};
}

}  // namespace

std::vector<double> axis_ticks(double low, double high, std::size_t most) {
  const double span = high - low;
  if (!(span > 0) || !std::isfinite(span) || most == 0) return {low};
  double step = std::pow(10, std::floor(std::log10(span / static_cast<double>(most))));
  for (const double more : {2.0, 2.5, 2.0}) {
    if (span / step <= static_cast<double>(most)) break;
    step *= more;
  }
  std::vector<double> ticks;
  const double first = std::floor(low / step + 1e-9);
  const double last = std::ceil(high / step - 1e-9);
  for (double i = first; i <= last && ticks.size() <= 4 * most; ++i) ticks.push_back(i * step);
  return ticks;
}

Drawing draw_figure(const Figure& figure, std::size_t x_axis) {
  if (figure.lines) return draw_lines(figure, x_axis);
  if (figure.bars) return draw_bars(figure);
  MUSTER_CHECK(figure.heat, "a table is no picture: {}", figure.id);
  return draw_heat(figure);
}

std::vector<PlotFile> plots_of(const Report& report) {
  std::vector<PlotFile> files;
  for (const ReportSection& section : report.sections) {
    for (const Figure& figure : section.figures) {
      if (figure.table) continue;
      const std::size_t axes = figure.lines ? figure.lines->x.size() : 1;
      for (std::size_t a = 0; a < axes; ++a) {
        const std::string by = axes > 1 ? "-by-" + figure.lines->x[a].key : "";
        files.push_back({figure.id + by, &figure, a});
      }
    }
  }
  return files;
}

Result<std::size_t> write_plots(const Report& report, const std::filesystem::path& folder) {
  MUSTER_TRY(make_folder(folder));
  const std::vector<PlotFile> files = plots_of(report);
  for (const PlotFile& file : files) {
    const Drawing drawing = draw_figure(*file.figure, file.x_axis);
    MUSTER_TRY(write_file(folder / (file.name + ".svg"), to_svg(drawing)));
    MUSTER_ASSIGN(const std::string png, to_png(drawing));
    MUSTER_TRY(write_file(folder / (file.name + ".png"), png));
  }
  return files.size();
}

}  // namespace muster
