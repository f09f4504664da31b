#include "engine/toml_reader.h"

#include <algorithm>

#include "base/names.h"
#include "recipe/toml_text.h"

namespace muster {

const toml::node* TomlReader::find(std::string_view key) {
  known_.emplace_back(key);
  return table_.get(key);
}

void TomlReader::fail(std::string_view key, std::string_view what) {
  if (error_) return;
  const toml::node* const node = table_.get(key);
  const auto line = (node ? node->source() : table_.source()).begin.line;
  error_ = usage_error("{}:{}: {}: {}", origin_, line, key, what);
}

std::string TomlReader::text(std::string_view key) {
  std::string value = text_or(key, "");
  if (value.empty()) fail(key, "want a text");
  return value;
}

std::string TomlReader::text_or(std::string_view key, std::string otherwise) {
  const toml::node* const node = find(key);
  if (!node) return otherwise;
  const auto value = node->value_exact<std::string>();
  if (!value) fail(key, fmt::format("{}, want a text", shown_value(*node)));
  return value.value_or("");
}

std::optional<double> TomlReader::number(std::string_view key) {
  const toml::node* const node = find(key);
  if (!node) return std::nullopt;
  const auto value = node->is_number() ? node->value<double>() : std::nullopt;
  if (!value) fail(key, fmt::format("{}, want a number", shown_value(*node)));
  return value;
}

template <typename T>
std::vector<T> TomlReader::list(std::string_view key, std::string_view wanted) {
  std::vector<T> values;
  const toml::node* const node = find(key);
  if (!node) return values;
  const toml::array* const array = node->as_array();
  if (!array) fail(key, fmt::format("{}, want {}", shown_value(*node), wanted));
  for (std::size_t i = 0; array && i < array->size(); ++i) {
    const auto value = (*array)[i].value<T>();
    if (!value) fail(key, fmt::format("{}, want {}", shown_value((*array)[i]), wanted));
    if (value) values.push_back(*value);
  }
  return values;
}

std::vector<std::string> TomlReader::texts(std::string_view key) {
  return list<std::string>(key, "a list of texts");
}

std::vector<double> TomlReader::numbers(std::string_view key) {
  return list<double>(key, "a list of numbers");
}

const toml::table* TomlReader::table(std::string_view key) {
  const toml::node* const node = find(key);
  if (!node) return nullptr;
  if (!node->is_table()) fail(key, fmt::format("{}, want a table", shown_value(*node)));
  return node->as_table();
}

std::vector<const toml::table*> TomlReader::tables(std::string_view key) {
  std::vector<const toml::table*> result;
  const toml::node* const node = find(key);
  if (!node) return result;
  const toml::array* const array = node->as_array();
  for (std::size_t i = 0; array && i < array->size(); ++i) result.push_back((*array)[i].as_table());
  if (!array || std::ranges::find(result, nullptr) != result.end()) {
    fail(key, fmt::format("{}, want tables: [[{}]]", shown_value(*node), key));
    result.clear();
  }
  return result;
}

Status TomlReader::status() const {
  if (error_) return *error_;
  return {};
}

Status TomlReader::finish() {
  for (const auto& [key, node] : table_) {
    if (std::ranges::find(known_, key.str()) != known_.end()) continue;
    fail(key.str(), unknown_name("key", key.str(), known_));
  }
  return status();
}

}  // namespace muster
