#include "record/progress.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <utility>

namespace muster {
namespace {

constexpr double kRedrawSeconds = 0.1;
constexpr double kLineSeconds = 2.0;
constexpr double kLineShare = 0.05;  // of the time so far
constexpr std::uint32_t kBarColumns = 24;

std::string duration(double seconds) {
  const auto whole = static_cast<std::uint64_t>(std::llround(std::max(seconds, 0.0)));
  if (whole < 60) return fmt::format("{}s", whole);
  if (whole < 3600) return fmt::format("{}m{:02}s", whole / 60, whole % 60);
  return fmt::format("{}h{:02}m", whole / 3600, whole / 60 % 60);
}

std::string bar(double share) {
  const auto filled = static_cast<std::uint32_t>(share * kBarColumns);
  return fmt::format("[{}{}]", std::string(filled, '='), std::string(kBarColumns - filled, ' '));
}

}  // namespace

ProgressSink stderr_progress() {
  return {
      .write =
          [](std::string_view text) {
            std::fwrite(text.data(), 1, text.size(), stderr);
            std::fflush(stderr);
          },
      .seconds =
          [] { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); },
      .width =
          [] {
            winsize size{};
            const bool known = ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
            return known ? std::uint32_t{size.ws_col} : std::uint32_t{80};
          },
      .terminal = ::isatty(STDERR_FILENO) == 1,
  };
}

Progress::Progress(bool quiet, std::uint32_t total_rounds, std::uint32_t first_round)
    : Progress(quiet, total_rounds, first_round, stderr_progress()) {}

Progress::Progress(bool quiet, std::uint32_t total_rounds, std::uint32_t first_round, ProgressSink sink)
    : sink_(std::move(sink)),
      quiet_(quiet),
      total_(total_rounds),
      first_(std::max<std::uint32_t>(first_round, 1)),
      round_(first_ - 1),
      start_(sink_.seconds()),
      last_shown_(start_),
      tenths_shown_(static_cast<std::uint32_t>(std::uint64_t{round_} * 10 / std::max<std::uint32_t>(total_, 1))) {}

Progress::~Progress() {
  finish();
}

void Progress::round(std::uint32_t round, std::string_view text) {
  if (quiet_ || finished_) return;
  round_ = round;
  text_ = text;
  pending_ = true;
  const double now = sink_.seconds();
  const double since = now - last_shown_;
  if (sink_.terminal) {
    if (!drawn_ || since >= kRedrawSeconds || round_ >= total_) show();
    return;
  }
  const auto tenths = static_cast<std::uint32_t>(std::uint64_t{round_} * 10 / std::max<std::uint32_t>(total_, 1));
  if (tenths > tenths_shown_ || since >= std::max(kLineSeconds, kLineShare * (now - start_))) {
    tenths_shown_ = std::max(tenths_shown_, tenths);
    show();
  }
}

void Progress::show() {
  last_shown_ = sink_.seconds();
  pending_ = false;
  const double elapsed = last_shown_ - start_;
  const std::uint32_t done = round_ >= first_ ? round_ - first_ + 1 : 0;
  const std::uint32_t left = total_ > round_ ? total_ - round_ : 0;
  const std::string time = left > 0 && done > 0 ? fmt::format("{} left", duration(elapsed / done * left))
                                                : fmt::format("{} in all", duration(elapsed));
  const std::string text = text_.empty() ? "" : "  " + text_;
  const std::string plain = fmt::format("round {}/{}{}  {}", round_, total_, text, time);
  if (!sink_.terminal) {
    sink_.write(plain + "\n");
    return;
  }
  // The last column stays free: a terminal may wrap when it is filled.
  const std::size_t columns = std::max<std::uint32_t>(sink_.width(), 2) - 1;
  const double share = total_ > 0 ? std::min(1.0, static_cast<double>(round_) / total_) : 1.0;
  std::string line = bar(share) + " " + plain;
  if (line.size() > columns) line = plain.substr(0, columns);
  sink_.write("\r" + line + "\x1b[K");
  drawn_ = true;
}

void Progress::finish() {
  if (finished_) return;
  if (pending_) show();
  if (drawn_) sink_.write("\n");
  finished_ = true;
}

}  // namespace muster
