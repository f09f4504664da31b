#include "recipe/layer_values.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <optional>

namespace muster {
namespace {

constexpr std::int64_t kMostRecurrent = 16;
constexpr char kAccepted[] = "an integer from 1 to 16 (lstm), or a list of layers (layers)";

bool printable(const std::string& words) {
  return !words.empty() &&
         std::ranges::none_of(words, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
}

std::optional<LayerList> items_in(const toml::array& array, std::size_t first);

// A string, or a list whose first item says what it is.
std::optional<LayerItem> item_in(const toml::node& node) {
  const toml::array* const list = node.as_array();
  const toml::node* const words = list ? list->get(0) : &node;
  const auto text = words ? words->value_exact<std::string>() : std::nullopt;
  if (!text || !printable(*text)) return std::nullopt;
  LayerItem item{*text};
  if (list) {
    auto inside = items_in(*list, 1);
    if (!inside || inside->empty()) return std::nullopt;
    item.inside = *std::move(inside);
  }
  return item;
}

std::optional<LayerList> items_in(const toml::array& array, std::size_t first) {
  LayerList items;
  for (std::size_t i = first; i < array.size(); ++i) {
    auto item = item_in(*array.get(i));
    if (!item) return std::nullopt;
    items.push_back(*std::move(item));
  }
  return items;
}

std::string written(const LayerItem& item) {
  if (item.inside.empty()) return toml_string(item.words);
  std::vector<std::string> parts{toml_string(item.words)};
  for (const LayerItem& part : item.inside) parts.push_back(written(part));
  return fmt::format("[{}]", fmt::join(parts, ", "));
}

}  // namespace

Codec<LayerChoice> layer_choice() {
  return {.accepted = kAccepted,
          .read = [](const toml::node& node) -> Result<LayerChoice> {
            if (const toml::array* const array = node.as_array()) {
              auto items = items_in(*array, 0);
              if (!items || items->empty()) {
                return unaccepted(node,
                                  "a list of layers, each a string, or for a residual a list that begins with it");
              }
              return LayerChoice(*std::move(items));
            }
            const auto depth = node.value_exact<std::int64_t>();
            if (!depth || *depth < 1 || *depth > kMostRecurrent) return unaccepted(node, kAccepted);
            return LayerChoice(static_cast<std::uint32_t>(*depth));
          },
          .write = [](const LayerChoice& choice) -> std::string {
            if (choice.list.empty()) return fmt::format("{}", choice.depth);
            std::vector<std::string> parts;
            for (const LayerItem& item : choice.list) parts.push_back(written(item));
            return fmt::format("[{}]", fmt::join(parts, ", "));
          }};
}

}  // namespace muster
