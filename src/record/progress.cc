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

}  // namespace

std::string duration_text(double seconds) {
  const auto whole = static_cast<std::uint64_t>(std::llround(std::max(seconds, 0.0)));
  if (whole < 60) return fmt::format("{}s", whole);
  if (whole < 3600) return fmt::format("{}m{:02}s", whole / 60, whole % 60);
  return fmt::format("{}h{:02}m", whole / 3600, whole / 60 % 60);
}

std::string progress_bar(double share) {
  const auto filled = static_cast<std::uint32_t>(share * kBarColumns);
  return fmt::format("[{}{}]", std::string(filled, '='), std::string(kBarColumns - filled, ' '));
}

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

Progress::Progress(bool quiet, ProgressSink sink)
    : sink_(std::move(sink)), quiet_(quiet), start_(sink_.seconds()), last_shown_(start_), training_start_(start_) {}

Progress::~Progress() {
  finish();
}

void Progress::begin_rounds(std::uint32_t total_rounds, std::uint32_t first_round) {
  total_ = total_rounds;
  first_ = std::max<std::uint32_t>(first_round, 1);
  round_ = first_ - 1;
  current_ = first_;
  training_start_ = sink_.seconds();
  tenths_shown_ = static_cast<std::uint32_t>(std::uint64_t{round_} * 10 / std::max<std::uint32_t>(total_, 1));
}

void Progress::begin_training() {
  if (!training_) training_start_ = sink_.seconds();
  training_ = true;
}

bool Progress::due(double now) const {
  const double since = now - last_shown_;
  if (sink_.terminal) return !drawn_ || since >= kRedrawSeconds;
  return since >= std::max(kLineSeconds, kLineShare * (now - start_));
}

std::string Progress::remark() const {
  const std::string text = sink_.remark ? sink_.remark() : std::string();
  return text.empty() ? text : "  " + text;
}

void Progress::phase(std::string_view what, std::size_t done, std::size_t total, std::string_view unit) {
  if (quiet_ || finished_) return;
  const double now = sink_.seconds();
  if (what != phase_ || done == 0) {
    phase_ = what;
    phase_start_ = now;
  }
  if (shown_ && !due(now)) return;
  std::string text = total_ > 0 && round_ < total_ ? fmt::format("round {}/{}  ", current_, total_) : std::string();
  text += what;
  if (total > 0) text += fmt::format(" {}/{} {}", done, total, unit);
  text += remark();
  if (done > 0 && done < total) {
    const double each_s = (now - phase_start_) / static_cast<double>(done);
    text += fmt::format("  {} left", duration_text(each_s * static_cast<double>(total - done)));
  }
  show(text, total_ > 0);
  pending_ = pending_ || (sink_.terminal && round_ >= first_);  // its line is gone: the last one comes back at the end
}

void Progress::round(std::uint32_t round, std::string_view text) {
  if (quiet_ || finished_) return;
  round_ = round;
  text_ = text;
  pending_ = true;
  const auto tenths = static_cast<std::uint32_t>(std::uint64_t{round_} * 10 / std::max<std::uint32_t>(total_, 1));
  const bool tenth = !sink_.terminal && tenths > tenths_shown_;
  if (!tenth && !(sink_.terminal && round_ >= total_) && !due(sink_.seconds())) return;
  tenths_shown_ = std::max(tenths_shown_, tenths);
  show_round();
}

void Progress::show_round() {
  pending_ = false;
  const double now = sink_.seconds();
  const std::uint32_t done = round_ >= first_ ? round_ - first_ + 1 : 0;
  const std::uint32_t left = total_ > round_ ? total_ - round_ : 0;
  const std::string time = left > 0 && done > 0
                               ? fmt::format("{} left", duration_text((now - training_start_) / done * left))
                               : fmt::format("{} in all", duration_text(now - start_));
  const std::string text = text_.empty() ? "" : "  " + text_;
  show(fmt::format("round {}/{}{}{}  {}", round_, total_, text, remark(), time), true);
}

void Progress::show(const std::string& plain, bool with_bar) {
  last_shown_ = sink_.seconds();
  shown_ = true;
  if (!sink_.terminal) {
    sink_.write(plain + "\n");
    return;
  }
  // The last column stays free: a terminal may wrap when it is filled.
  const std::size_t columns = std::max<std::uint32_t>(sink_.width(), 2) - 1;
  const double share = total_ > 0 ? std::min(1.0, static_cast<double>(round_) / total_) : 1.0;
  std::string line = with_bar ? progress_bar(share) + " " + plain : plain;
  if (line.size() > columns) line = plain.substr(0, columns);
  sink_.write("\r" + line + "\x1b[K");
  drawn_ = true;
}

void Progress::make_room() {
  if (drawn_) sink_.write("\r\x1b[K");
  drawn_ = false;
}

void Progress::finish() {
  if (finished_) return;
  if (pending_) show_round();
  if (drawn_) sink_.write("\n");
  finished_ = true;
}

}  // namespace muster
