#include "record/json_text.h"

#include <cmath>

namespace muster {
namespace {

// How deep brackets nest, as far as that can be told without parsing: the text may be wrong in other ways.
bool deeper_than(std::string_view text, std::uint32_t levels) {
  std::uint64_t depth = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c == '\\') ++i;
      if (c == '"') quoted = false;
    } else if (c == '"') {
      quoted = true;
    } else if (c == '[' || c == '{') {
      if (++depth > levels) return true;
    } else if ((c == ']' || c == '}') && depth > 0) {
      --depth;
    }
  }
  return false;
}

}  // namespace

nlohmann::ordered_json json_number(double value) {
  return std::isfinite(value) ? nlohmann::ordered_json(value) : nlohmann::ordered_json(nullptr);
}

nlohmann::ordered_json json_number(const std::optional<double>& value) {
  return value ? json_number(*value) : nlohmann::ordered_json(nullptr);
}

Result<nlohmann::json> parse_json(std::string_view text, std::uint32_t levels) {
  if (deeper_than(text, levels)) return failure("JSON nested more than {} levels deep", levels);
  nlohmann::json value = nlohmann::json::parse(text, nullptr, false);
  if (value.is_discarded()) return failure("not JSON");
  return value;
}

}  // namespace muster
