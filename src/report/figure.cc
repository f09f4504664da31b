#include "report/figure.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>

namespace muster {
namespace {

using Json = nlohmann::json;

const char* name(Unit unit) {
  switch (unit) {
    case Unit::kNone:
      return "number";
    case Unit::kShare:
      return "share";
    case Unit::kCount:
      return "count";
    case Unit::kSeconds:
      return "seconds";
    case Unit::kBytes:
      return "bytes";
  }
  return "number";
}

Json in_json(double value) {
  if (!std::isfinite(value)) return nullptr;
  if (value == std::floor(value) && std::abs(value) < 1e15) return static_cast<std::int64_t>(value);
  return std::strtod(fmt::format("{:.6g}", value).c_str(), nullptr);
}

Json in_json(const Numbers& values) {
  Json list = Json::array();
  for (const auto& value : values) list.push_back(value ? in_json(*value) : Json(nullptr));
  return list;
}

Json in_json(const Axis& axis) {
  Json json{{"label", axis.label}, {"unit", name(axis.unit)}};
  if (!axis.key.empty()) json["key"] = axis.key;
  return json;
}

Json in_json(const std::vector<Axis>& axes) {
  Json list = Json::array();
  for (const Axis& axis : axes) list.push_back(in_json(axis));
  return list;
}

void write(const LineFigure& figure, Json& json) {
  json["kind"] = "lines";
  json["x"] = in_json(figure.x);
  json["y"] = in_json(figure.y);
  json["series"] = Json::array();
  for (const Series& series : figure.series) {
    Json one{{"name", series.name}, {"x", Json::array()}, {"y", in_json(series.y)}};
    for (const Numbers& x : series.x) one["x"].push_back(in_json(x));
    if (!series.low.empty()) one["low"] = in_json(series.low);
    if (!series.high.empty()) one["high"] = in_json(series.high);
    if (series.dashed) one["dashed"] = true;
    json["series"].push_back(std::move(one));
  }
}

void write(const BarFigure& figure, Json& json) {
  json["kind"] = "bars";
  json["x"] = in_json(figure.categories_axis);
  json["y"] = in_json(figure.values_axis);
  json["categories"] = figure.categories;
  json["parts"] = Json::array();
  for (const BarFigure::Part& part : figure.parts) {
    Json one{{"name", part.name}, {"values", in_json(part.values)}};
    if (!part.colour.empty()) one["colour"] = part.colour;
    json["parts"].push_back(std::move(one));
  }
}

void write(const HeatFigure& figure, Json& json) {
  json["kind"] = "heat";
  json["y"] = in_json(figure.rows_axis);
  json["x"] = in_json(figure.columns_axis);
  json["z"] = in_json(figure.values_axis);
  if (figure.strong_low) json["strong_low"] = true;
  json["rows"] = figure.rows;
  json["columns"] = figure.columns;
  json["values"] = Json::array();
  for (const Numbers& row : figure.values) json["values"].push_back(in_json(row));
}

void write(const TableFigure& figure, Json& json) {
  json["kind"] = "table";
  json["columns"] = in_json(figure.columns);
  json["rows"] = Json::array();
  for (const std::vector<Cell>& cells : figure.rows) {
    Json row = Json::array();
    for (const Cell& cell : cells) row.push_back(cell.number ? in_json(*cell.number) : Json(cell.text));
    json["rows"].push_back(std::move(row));
  }
}

std::string scaled(double value, double step, const std::array<const char*, 5>& names) {
  std::size_t power = 0;
  while (std::abs(value) >= step && power + 1 < names.size()) {
    value /= step;
    ++power;
  }
  return fmt::format("{:.4g} {}", value, names[power]);
}

}  // namespace

nlohmann::json to_json(const Figure& figure) {
  Json json{{"id", figure.id}, {"title", figure.title}};
  if (!figure.caption.empty()) json["caption"] = figure.caption;
  if (figure.lines) write(*figure.lines, json);
  if (figure.bars) write(*figure.bars, json);
  if (figure.heat) write(*figure.heat, json);
  if (figure.table) write(*figure.table, json);
  return json;
}

std::string number_text(double value, Unit unit) {
  if (!std::isfinite(value)) return "-";
  switch (unit) {
    case Unit::kShare:
      return fmt::format("{:.2f} %", 100 * value);
    case Unit::kSeconds:
      return std::abs(value) >= 1000 ? fmt::format("{:.0f} s", value) : fmt::format("{:.4g} s", value);
    case Unit::kBytes:
      return scaled(value, 1000, {"B", "kB", "MB", "GB", "TB"});
    case Unit::kCount:
    case Unit::kNone:
      break;
  }
  return value == std::floor(value) && std::abs(value) < 1e15 ? fmt::format("{:.0f}", value)
                                                              : fmt::format("{:.4g}", value);
}

}  // namespace muster
