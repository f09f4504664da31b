#include "base/fail_point.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <deque>

#include "base/names.h"

namespace muster {
namespace {

constexpr std::array kNames{"write.before", "write.after",    "fsync.before",  "fsync.after",   "rename.before",
                            "rename.after", "append.before",  "append.half",   "append.after",  "send.before",
                            "send.after",   "receive.before", "receive.after", "commit.before", "commit.after"};

struct Trigger {
  std::size_t point = 0;
  std::string subject;
  std::uint64_t count = 0;
  int signal = SIGKILL;
  std::atomic<std::uint64_t> reached{0};
};

// Written by arm_fail_points() only, before anything is armed.
std::deque<Trigger>& triggers() {
  static auto* const all = new std::deque<Trigger>;  // lives as long as the process
  return *all;
}
int trace_file = -1;

Status add_trigger(std::string_view text) {
  const std::size_t at = text.find('@');
  const std::size_t colon = text.find(':', at == std::string_view::npos ? 0 : at);
  if (at == std::string_view::npos || colon == std::string_view::npos) {
    return usage_error("MUSTER_FAIL_AT: '{}', want POINT@SUBJECT:COUNT[:kill|stop]", text);
  }
  const std::string_view point = text.substr(0, at);
  const auto known = std::ranges::find(kNames, point);
  if (known == kNames.end()) {
    return Error{ErrorCode::kUsage, "MUSTER_FAIL_AT: " + unknown_name("fail point", point, fail_point_names())};
  }
  Trigger& trigger = triggers().emplace_back();
  trigger.point = static_cast<std::size_t>(known - kNames.begin());
  trigger.subject = text.substr(at + 1, colon - at - 1);
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data() + colon + 1, end, trigger.count);
  const std::string_view action(rest, end);
  if (error != std::errc() || trigger.count == 0 || !(action.empty() || action == ":kill" || action == ":stop")) {
    return usage_error("MUSTER_FAIL_AT: '{}', want a count >= 1, and kill or stop, after the subject", text);
  }
  if (action == ":stop") trigger.signal = SIGSTOP;
  return {};
}

}  // namespace

std::vector<std::string> fail_point_names() {
  return {kNames.begin(), kNames.end()};
}

Status arm_fail_points(const char* fail_at, const char* trace) {
  triggers().clear();
  if (trace_file >= 0) ::close(std::exchange(trace_file, -1));
  fail_points::armed = false;
  for (std::string_view rest = fail_at ? fail_at : ""; !rest.empty();) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    MUSTER_TRY(add_trigger(rest.substr(0, comma)));
    rest.remove_prefix(std::min(comma + 1, rest.size()));
  }
  if (trace && *trace) {
    trace_file = ::open(trace, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (trace_file < 0) return failure("MUSTER_FAIL_TRACE: {}: cannot write: {}", trace, std::strerror(errno));
  }
  fail_points::armed = !triggers().empty() || trace_file >= 0;
  return {};
}

void fail_points::reach(FailPoint point, std::string_view subject) {
  const auto number = static_cast<std::size_t>(point);
  if (trace_file >= 0) {
    const std::string line = fmt::format("{}@{}\n", kNames[number], subject);
    // In one call, so that lines of several threads stay whole; a trace that cannot be written is a shorter one.
    [[maybe_unused]] const ssize_t written = ::write(trace_file, line.data(), line.size());
  }
  for (Trigger& trigger : triggers()) {
    if (trigger.point != number || trigger.subject != subject || ++trigger.reached != trigger.count) continue;
    // To this thread, so that it goes no further: a stop that another one takes would be noticed too late.
    std::raise(trigger.signal);
  }
}

void fail_points::reach(FailPoint point, const std::filesystem::path& file) {
  std::string subject = file.filename().string();
  std::erase_if(subject, [](char c) { return c >= '0' && c <= '9'; });
  reach(point, std::string_view(subject));
}

}  // namespace muster
