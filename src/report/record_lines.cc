#include "report/record_lines.h"

#include <cmath>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "record/json_text.h"

namespace muster {
namespace {

constexpr std::size_t kLongestLine = std::size_t{64} << 20;
constexpr std::size_t kReadAtOnce = std::size_t{1} << 16;

const nlohmann::json kNothing;

const nlohmann::json& field_of(const nlohmann::json& object, const char* field) {
  if (!object.is_object()) return kNothing;
  const auto found = object.find(field);
  return found == object.end() ? kNothing : *found;
}

}  // namespace

LineTally for_each_record(const std::filesystem::path& file, const std::function<bool(const nlohmann::json&)>& use) {
  LineTally tally;
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(file, ignored)) return tally;
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> in(std::fopen(file.c_str(), "rb"), &std::fclose);
  if (!in) return tally;
  std::string line;
  bool too_long = false;
  std::string chunk(kReadAtOnce, '\0');
  while (const std::size_t got = std::fread(chunk.data(), 1, chunk.size(), in.get())) {
    std::string_view rest(chunk.data(), got);
    while (!rest.empty()) {
      const std::size_t end = rest.find('\n');
      const std::string_view piece = rest.substr(0, end);
      if (line.size() + piece.size() > kLongestLine) {
        too_long = true;
        line.clear();
      }
      if (!too_long) line += piece;
      if (end == std::string_view::npos) break;
      rest.remove_prefix(end + 1);
      ++tally.lines;
      const auto record = too_long ? Result<nlohmann::json>(failure("too long")) : parse_json(line);
      line.clear();
      too_long = false;
      if (!record || !record->is_object()) {
        ++tally.bad;
      } else if (!use(*record)) {
        return tally;
      }
    }
  }
  tally.torn = !line.empty() || too_long;
  return tally;
}

double number_of(const nlohmann::json& object, const char* field, double fallback) {
  const nlohmann::json& value = field_of(object, field);
  if (!value.is_number()) return fallback;
  const auto number = value.get<double>();
  return std::isfinite(number) ? number : fallback;
}

std::uint32_t count_of(const nlohmann::json& object, const char* field, std::uint32_t fallback) {
  const nlohmann::json& value = field_of(object, field);
  if (!value.is_number_unsigned() || value.get<std::uint64_t>() > 0xffffffffu) return fallback;
  return value.get<std::uint32_t>();
}

std::string text_of(const nlohmann::json& object, const char* field) {
  const nlohmann::json& value = field_of(object, field);
  return value.is_string() ? value.get<std::string>() : std::string();
}

const nlohmann::json& inner(const nlohmann::json& object, const char* field) {
  const nlohmann::json& value = field_of(object, field);
  return value.is_structured() ? value : kNothing;
}

}  // namespace muster
