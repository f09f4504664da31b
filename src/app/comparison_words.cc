#include "app/comparison_words.h"

#include <algorithm>
#include <charconv>
#include <filesystem>

namespace muster {
namespace {

bool is_key(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '_';
  });
}

// Where in `word` the next "+key=" begins, from `from` on; npos = nowhere.
std::size_t next_setting(std::string_view word, std::size_t from) {
  for (std::size_t plus = word.find('+', from); plus != std::string_view::npos; plus = word.find('+', plus + 1)) {
    const std::size_t equals = word.find('=', plus);
    if (equals == std::string_view::npos) break;
    if (is_key(word.substr(plus + 1, equals - plus - 1))) return plus;
  }
  return std::string_view::npos;
}

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == ',') {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

template <typename T>
Result<std::vector<T>> parse_list(const std::string& option, const std::string& text, const char* wanted,
                                  bool (*accepted)(T)) {
  std::vector<T> values;
  for (const std::string& part : split(text)) {
    T value{};
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), value);
    if (error != std::errc() || end != part.data() + part.size() || !accepted(value)) {
      return usage_error("{} {}: '{}', want {}", option, text, part, wanted);
    }
    if (std::ranges::find(values, value) != values.end()) {
      return usage_error("{} {}: {} is there twice", option, text, part);
    }
    values.push_back(value);
  }
  return values;
}

}  // namespace

Result<MethodWord> parse_method(const std::string& word) {
  MethodWord method;
  const std::size_t settings = next_setting(word, 0);
  std::string recipe = word.substr(0, settings);
  const std::size_t colon = recipe.find(':');
  const bool labelled = colon != std::string::npos && recipe.substr(0, colon).find('/') == std::string::npos;
  if (labelled) {
    method.label = recipe.substr(0, colon);
    recipe.erase(0, colon + 1);
  }
  method.recipe = recipe;
  for (std::size_t at = settings; at != std::string::npos;) {
    const std::size_t next = next_setting(word, at + 1);
    method.settings.push_back(word.substr(at + 1, next == std::string::npos ? next : next - at - 1));
    at = next;
  }
  if (recipe.empty() || (labelled && method.label.empty())) {
    return usage_error("'{}': want METHOD, METHOD+key=value or LABEL:METHOD+key=value, e.g. fedprox+local.mu=0.1",
                       word);
  }
  if (!labelled) {
    const bool file = recipe.ends_with(".toml");
    method.label = file ? std::filesystem::path(recipe).stem().string() : recipe;
    if (settings != std::string::npos) method.label += word.substr(settings);
  }
  return method;
}

Result<std::vector<std::uint64_t>> parse_seeds(const std::string& option, const std::string& text) {
  return parse_list<std::uint64_t>(option, text, "whole numbers with commas between them, e.g. 1,2,3",
                                   [](std::uint64_t) { return true; });
}

Result<std::vector<double>> parse_targets(const std::string& option, const std::string& text) {
  return parse_list<double>(option, text, "accuracies above 0 and up to 1 with commas between them, e.g. 0.7,0.8",
                            [](double value) { return value > 0 && value <= 1; });
}

}  // namespace muster
