// What the program says on stderr, a line at a time: for people, or for whoever collects logs one JSON object a line.
// The command that runs decides, once; everybody else only says what there is to say.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace muster {

enum class LogLevel { kInfo, kWarning, kError };

// From now on lines are JSON, of a process of this role; and of this name, once that is known.
void log_as_json(std::string role);
void log_name(std::string name);
[[nodiscard]] bool logs_json();

// `fields`: an object of what programs may want of the message, in JSON only; there the message may hold any bytes, for
// people it goes out as it is. Thread-safe.
void log_line(LogLevel level, std::string_view message);
void log_line(LogLevel level, std::string_view message, const nlohmann::ordered_json& fields);

// The object: time (RFC 3339, UTC), role, level, message, then the fields. `unix_ms`: since 1970.
[[nodiscard]] std::string log_json(std::int64_t unix_ms, std::string_view role, LogLevel level,
                                   std::string_view message, const nlohmann::ordered_json& fields);

}  // namespace muster
