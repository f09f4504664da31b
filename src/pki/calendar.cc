#include "pki/calendar.h"

#include <cstdio>
#include <ctime>

namespace muster {
namespace {

std::tm parts_of(sys_seconds time) {
  const std::time_t seconds = time.time_since_epoch().count();
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  return parts;
}

}  // namespace

sys_seconds utc_now() {
  return std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
}

std::string date_text(sys_seconds time) {
  const std::tm parts = parts_of(time);
  return fmt::format("{:04}-{:02}-{:02}", parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday);
}

std::string time_text(sys_seconds time) {
  const std::tm parts = parts_of(time);
  return fmt::format("{}T{:02}:{:02}:{:02}Z", date_text(time), parts.tm_hour, parts.tm_min, parts.tm_sec);
}

Result<sys_seconds> parse_time(std::string_view text) {
  std::tm parts{};
  const std::string copy(text);
  const char* const end = ::strptime(copy.c_str(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  if (end == nullptr || *end != '\0') return failure("want a time like 2026-11-02T10:00:00Z");
  return sys_seconds(std::chrono::seconds(::timegm(&parts)));
}

}  // namespace muster
