#include "engine/same_task.h"

#include <algorithm>

#include "recipe/keys.h"
#include "recipe/tasks.h"

namespace muster {
namespace {

std::string shown(const std::string& value) {
  return value.empty() ? std::string("not set") : value;
}

bool may_differ(const RowOfTask& row, const std::string& key) {
  return std::ranges::find(row.own_keys, key) != row.own_keys.end();
}

}  // namespace

Status check_same_task(std::span<const RowOfTask> rows) {
  for (std::size_t i = 1; i < rows.size(); ++i) {
    for (const Key& key : recipe_key_table()) {
      const std::string name = full_name(key.info);
      if (!belongs_to_task(key.info) || name == "seed") continue;
      if (may_differ(rows[0], name) || may_differ(rows[i], name)) continue;
      if (failing_condition(key, *rows[0].recipe) || failing_condition(key, *rows[i].recipe)) continue;
      const std::string first = key.get(*rows[0].recipe);
      const std::string other = key.get(*rows[i].recipe);
      if (first == other) continue;
      return usage_error(
          "{}: {} is {}, but {} for {}; every method needs the same task: give --task, or --set {} for all",
          rows[i].label, name, shown(other), shown(first), rows[0].label, name);
    }
  }
  return {};
}

}  // namespace muster
