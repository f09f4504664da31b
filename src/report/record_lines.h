// The lines of a file that somebody may be writing to, one at a time, in bounded memory.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string_view>

namespace muster {

struct LineTally {
  std::uint64_t lines = 0;  // that were whole
  std::uint64_t bad = 0;    // of them: not a JSON object, or longer than anything that is written
  bool torn = false;        // the last has no end yet
};

// Calls `use` with every whole line that is a JSON object, until it returns false. A file that is not there, or is
// none, has no lines.
[[nodiscard]] LineTally for_each_record(const std::filesystem::path& file,
                                        const std::function<bool(const nlohmann::json&)>& use);

// A field of an object; `fallback` where it is missing, of another type or not finite.
[[nodiscard]] double number_of(const nlohmann::json& object, const char* field, double fallback);
[[nodiscard]] std::uint32_t count_of(const nlohmann::json& object, const char* field, std::uint32_t fallback = 0);
[[nodiscard]] std::string text_of(const nlohmann::json& object, const char* field);
// An array or an object within it; null where it is neither.
[[nodiscard]] const nlohmann::json& inner(const nlohmann::json& object, const char* field);

}  // namespace muster
