#include "record/json_text.h"

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

Result<nlohmann::json> parse_json(std::string_view text, std::uint32_t levels) {
  if (deeper_than(text, levels)) return failure("JSON nested more than {} levels deep", levels);
  nlohmann::json value = nlohmann::json::parse(text, nullptr, false);
  if (value.is_discarded()) return failure("not JSON");
  return value;
}

}  // namespace muster
