#include "recipe/recipe_text.h"

#include "recipe/toml_text.h"

namespace muster {
namespace {

std::string text_of(const toml::node& node, bool quoted);

template <typename Items, typename Text>
std::string listed(const Items& items, const Text& text) {
  std::string list;
  for (const auto& item : items) list += (list.empty() ? "" : ", ") + text(item);
  return list;
}

std::string text_of(const toml::node& node, bool quoted) {
  if (const auto* const table = node.as_table()) {
    std::string list;
    for (const auto& [key, value] : *table) {
      list += (list.empty() ? "" : ", ") + std::string(key.str()) + " = " + text_of(value, true);
    }
    return "{" + list + "}";
  }
  if (const auto* const array = node.as_array()) {
    return "[" + listed(*array, [](const toml::node& item) { return text_of(item, true); }) + "]";
  }
  if (const auto* const text = node.as_string()) return quoted ? toml_string(text->get()) : text->get();
  if (const auto* const number = node.as_floating_point()) return toml_number(number->get());
  if (const auto* const number = node.as_integer()) return std::to_string(number->get());
  if (const auto* const flag = node.as_boolean()) return flag->get() ? "true" : "false";
  return shown_value(node);
}

}  // namespace

Result<std::map<std::string, std::string>> recipe_keys_of(std::string_view toml) {
  MUSTER_ASSIGN(const toml::table document, parse_toml(toml, ""));
  std::map<std::string, std::string> keys;
  for (const auto& [section, node] : document) {
    const auto* const table = node.as_table();
    if (!table) {
      keys[std::string(section.str())] = text_of(node, false);
      continue;
    }
    for (const auto& [key, value] : *table) {
      keys[std::string(section.str()) + "." + std::string(key.str())] = text_of(value, false);
    }
  }
  return keys;
}

std::string recipe_value(std::string_view given) {
  if (const auto parsed = parse_toml("value = " + std::string(given), "")) {
    if (const toml::node* const node = parsed->get("value"); node && parsed->size() == 1) return text_of(*node, false);
  }
  return std::string(given);
}

}  // namespace muster
