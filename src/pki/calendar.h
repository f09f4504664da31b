// The time of day as certificates have it: whole seconds in UTC. Whoever decides by it takes it as an argument.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "base/result.h"

namespace muster {

using std::chrono::sys_seconds;

[[nodiscard]] sys_seconds utc_now();
// "2026-11-02".
[[nodiscard]] std::string date_text(sys_seconds time);
// "2026-11-02T10:00:00Z", and back.
[[nodiscard]] std::string time_text(sys_seconds time);
[[nodiscard]] Result<sys_seconds> parse_time(std::string_view text);

}  // namespace muster
