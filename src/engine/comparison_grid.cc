#include "engine/comparison_grid.h"

#include <algorithm>

#include "recipe/keys.h"
#include "recipe/tasks.h"

namespace muster {
namespace {

std::vector<std::string> split_values(const std::string& text) {
  std::vector<std::string> values(1);
  int depth = 0;
  bool quoted = false;
  for (const char c : text) {
    if (c == '"') quoted = !quoted;
    if (!quoted && (c == '[' || c == '{')) ++depth;
    if (!quoted && (c == ']' || c == '}')) --depth;
    if (c == ',' && depth == 0 && !quoted) {
      values.emplace_back();
    } else {
      values.back() += c;
    }
  }
  return values;
}

// What apply_setting() says of a key that is not there.
Error unknown(const std::string& key) {
  Recipe any;
  const Status status = apply_setting(any, key + "=1");
  MUSTER_CHECK(!status.ok(), "{} is a key", key);
  const std::string& message = status.error().message;
  const std::string_view prefix = "--set: ";
  return usage_error("--grid {}", message.starts_with(prefix) ? message.substr(prefix.size()) : message);
}

}  // namespace

Result<GridKey> parse_grid_key(const std::string& text) {
  const auto equals = text.find('=');
  if (equals == std::string::npos || equals == 0) {
    return usage_error("--grid {}: want section.key=a,b,c, e.g. local.learning-rate=0.01,0.05,0.1", text);
  }
  GridKey grid{.key = text.substr(0, equals), .values = split_values(text.substr(equals + 1))};
  const Key* const key = find_key(grid.key);
  if (!key) return unknown(grid.key);
  if (grid.key == "seed") return usage_error("--grid seed: seeds are not chosen among; give --seeds");
  if (belongs_to_task(key->info) && key->info.section != "local") {
    return usage_error(
        "--grid {}: every method must have the same {}; only keys of methods and of [local] can be tried", grid.key,
        key->info.section.empty() ? grid.key : key->info.section);
  }
  for (const std::string& value : grid.values) {
    if (value.empty()) return usage_error("--grid {}: an empty value; want {}=a,b,c", text, grid.key);
    if (std::ranges::count(grid.values, value) > 1) return usage_error("--grid {}: {} is there twice", text, value);
  }
  return grid;
}

std::vector<GridKey> keys_that_apply(const std::vector<GridKey>& grid, const Recipe& recipe, const std::string& label,
                                     std::vector<std::string>& notes) {
  std::vector<GridKey> kept;
  for (const GridKey& one : grid) {
    const Key* const key = find_key(one.key);
    MUSTER_CHECK(key, "{} was found before", one.key);
    if (const Condition* const failing = failing_condition(*key, recipe)) {
      notes.push_back(
          fmt::format("{}: {} {}; it is left out of its grid", label, one.key, why_no_effect(*failing, recipe)));
    } else {
      kept.push_back(one);
    }
  }
  return kept;
}

std::vector<std::vector<std::string>> grid_points(const std::vector<GridKey>& grid) {
  std::vector<std::vector<std::string>> points(1);
  for (const GridKey& one : grid) {
    std::vector<std::vector<std::string>> more;
    for (const std::vector<std::string>& point : points) {
      for (const std::string& value : one.values) {
        more.push_back(point);
        more.back().push_back(fmt::format("{}={}", one.key, value));
      }
    }
    points = std::move(more);
  }
  return points;
}

}  // namespace muster
