#include "data/readers/table_columns.h"

#include <algorithm>
#include <unordered_set>

#include "base/names.h"
#include "data/shown_text.h"

namespace muster {
namespace {

std::string list_names(const std::vector<std::string>& names) {
  constexpr std::size_t kShown = 12;
  std::string text;
  std::size_t named = 0;
  for (const std::string& name : names) {
    if (name.empty() || ++named > kShown) continue;
    text += (named > 1 ? ", " : "") + shown_text(name);
  }
  if (named > kShown) text += fmt::format(", ... ({} columns)", named);
  return text;
}

Error no_column(const char* key, const std::string& typed, const std::vector<std::string>& names) {
  const std::string near = typed.size() < 100 ? nearest_name(typed, names) : "";
  const std::string hint = near.empty() ? "" : fmt::format(" (did you mean '{}'?)", shown_text(near));
  return usage_error("data.{}: no column '{}'{}, there are {}", key, shown_text(typed.substr(0, 100)), hint,
                     list_names(names));
}

Error same_column(const char* one, const char* other, const std::string& name) {
  return usage_error("data.{} and data.{} name the same column, '{}'", one, other, shown_text(name));
}

class Assignment {
 public:
  Assignment(std::vector<std::string> names, const TableOptions& options) : options_(options) {
    columns_.names = std::move(names);
    columns_.categorical.assign(columns_.names.size(), false);
  }

  Result<TableColumns> run() {
    MUSTER_TRY(find_roles());
    if (!options_.text.empty()) {
      MUSTER_TRY(find_text());
      return std::move(columns_);
    }
    MUSTER_TRY(find_features());
    for (const std::string& name : options_.categorical) {
      MUSTER_ASSIGN(const std::size_t column, require("categorical", name));
      if (std::ranges::find(columns_.features, column) == columns_.features.end()) {
        return usage_error("data.categorical: '{}' is not a feature", shown_text(name));
      }
      columns_.categorical[column] = true;
    }
    return std::move(columns_);
  }

 private:
  [[nodiscard]] std::optional<std::size_t> find(const std::string& name) const {
    const auto found = std::ranges::find(columns_.names, name);
    if (name.empty() || found == columns_.names.end()) return std::nullopt;
    return static_cast<std::size_t>(found - columns_.names.begin());
  }
  [[nodiscard]] Result<std::size_t> require(const char* key, const std::string& name) const {
    if (const auto column = find(name)) return *column;
    return no_column(key, name, columns_.names);
  }

  Status find_roles() {
    const TableOptions defaults;
    MUSTER_ASSIGN(columns_.label, require("label", options_.label));
    columns_.client = find(options_.client);
    if (!columns_.client && options_.client != defaults.client && !options_.one_client) {
      return no_column("client", options_.client, columns_.names);
    }
    columns_.split = find(options_.split);
    if (!columns_.split && options_.split != defaults.split) return no_column("split", options_.split, columns_.names);
    if (columns_.client == columns_.label) return same_column("label", "client", options_.label);
    if (columns_.split == columns_.label) return same_column("label", "split", options_.label);
    if (columns_.client && columns_.client == columns_.split) return same_column("client", "split", options_.client);
    return {};
  }

  Status find_text() {
    MUSTER_ASSIGN(const std::size_t column, require("text", options_.text));
    if (column == columns_.label) return same_column("text", "label", options_.text);
    if (column == columns_.client) return same_column("text", "client", options_.text);
    if (column == columns_.split) return same_column("text", "split", options_.text);
    if (!options_.tokens.tokens) {
      return usage_error("data.text: '{}' wants data.tokens, \"characters\" or \"words\"", shown_text(options_.text));
    }
    columns_.text = column;
    columns_.features = {column};
    return {};
  }

  Status find_features() {
    const std::size_t count = columns_.names.size();
    std::vector<bool> used(count, options_.features.empty());
    for (const std::string& name : options_.features) {
      MUSTER_ASSIGN(const std::size_t column, require("features", name));
      if (is_role(column)) {
        return usage_error("data.features: '{}' is the label, client or split column", shown_text(name));
      }
      used[column] = true;
    }
    for (const std::string& name : options_.drop) {
      MUSTER_ASSIGN(const std::size_t column, require("drop", name));
      if (column == columns_.label) return usage_error("data.drop: '{}' is the label column", shown_text(name));
      if (!options_.features.empty() && used[column]) {
        return usage_error("data.drop: '{}' is in data.features too", shown_text(name));
      }
      used[column] = false;
      if (column == columns_.client) columns_.client.reset();
      if (column == columns_.split) columns_.split.reset();
    }
    for (std::size_t column = 0; column < count; ++column) {
      if (columns_.names[column].empty()) {
        columns_.notes.push_back(fmt::format("column {} has no name and is not used", column + 1));
      } else if (used[column] && !is_role(column)) {
        columns_.features.push_back(column);
      }
    }
    if (columns_.features.empty()) return failure("no feature columns beside label, client and split");
    return {};
  }

  [[nodiscard]] bool is_role(std::size_t column) const {
    return columns_.label == column || columns_.client == column || columns_.split == column;
  }

  const TableOptions& options_;
  TableColumns columns_;
};

}  // namespace

Result<std::vector<std::string>> column_names(const std::vector<std::string>& header) {
  std::unordered_set<std::string> seen;
  for (const std::string& name : header) {
    if (!name.empty() && !seen.insert(name).second) return failure("line 1: column '{}' comes twice", shown_text(name));
  }
  return header;
}

Result<TableColumns> assign_columns(const std::vector<std::string>& header, const TableOptions& options) {
  MUSTER_ASSIGN(std::vector<std::string> names, column_names(header));
  return Assignment(std::move(names), options).run();
}

}  // namespace muster
