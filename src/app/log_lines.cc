#include "app/log_lines.h"

#include <fmt/chrono.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>

#include "record/json_text.h"

namespace muster {
namespace {

std::optional<std::string>& json_role() {
  static std::optional<std::string> role;
  return role;
}

std::string& json_name() {
  static std::string name;
  return name;
}

constexpr std::string_view name(LogLevel level) {
  switch (level) {
    case LogLevel::kInfo:
      return "info";
    case LogLevel::kWarning:
      return "warning";
    case LogLevel::kError:
      return "error";
  }
  return "?";
}

}  // namespace

void log_as_json(std::string role) {
  json_role() = std::move(role);
}

void log_name(std::string name) {
  json_name() = std::move(name);
}

bool logs_json() {
  return json_role().has_value();
}

std::string log_json(std::int64_t unix_ms, std::string_view role, LogLevel level, std::string_view message,
                     const nlohmann::ordered_json& fields) {
  nlohmann::ordered_json line{
      {"time", fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z", fmt::gmtime(static_cast<std::time_t>(unix_ms / 1000)),
                           unix_ms % 1000)},
      {"role", role},
      {"level", name(level)},
      {"message", message}};
  for (const auto& [key, value] : fields.items()) line[key] = value;
  return json_text(line);
}

void log_line(LogLevel level, std::string_view message) {
  log_line(level, message, nlohmann::ordered_json::object());
}

void log_line(LogLevel level, std::string_view message, const nlohmann::ordered_json& fields) {
  std::string line;
  if (json_role()) {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    nlohmann::ordered_json all = nlohmann::ordered_json::object();
    if (!json_name().empty()) all["name"] = json_name();
    all.update(fields);
    line =
        log_json(std::chrono::duration_cast<std::chrono::milliseconds>(now).count(), *json_role(), level, message, all);
  } else {
    line = fmt::format("muster: {}", message);
  }
  line += '\n';
  // On a terminal a bar may be where it goes; that comes back with the next progress.
  static const bool terminal = ::isatty(STDERR_FILENO) == 1;
  if (terminal) line.insert(0, "\r\x1b[K");
  std::fwrite(line.data(), 1, line.size(), stderr);  // in one piece, so that lines of threads do not mix
}

}  // namespace muster
