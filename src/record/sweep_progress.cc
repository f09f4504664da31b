#include "record/sweep_progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace muster {
namespace {

constexpr double kRedrawSeconds = 0.1;
constexpr double kLineSeconds = 2.0;
constexpr double kLineShare = 0.05;  // of the time so far

}  // namespace

SweepProgress::SweepProgress(std::size_t runs, bool quiet, ProgressSink sink)
    : sink_(std::move(sink)), quiet_(quiet), runs_(runs), start_(sink_.seconds()), last_shown_(start_) {}

SweepProgress::~SweepProgress() {
  finish();
}

void SweepProgress::expect(std::size_t run, double work, std::uint32_t rounds) {
  const std::lock_guard lock(mutex_);
  runs_[run].work = work;
  runs_[run].rounds = rounds;
}

void SweepProgress::round(std::size_t run, std::uint32_t round) {
  const std::lock_guard lock(mutex_);
  Run& one = runs_[run];
  if (one.first == 0) one.first = round;
  one.last = round;
  show_if_due();
}

void SweepProgress::done(std::size_t run, bool now) {
  const std::lock_guard lock(mutex_);
  runs_[run].done = true;
  runs_[run].known_before = !now;
  show_if_due();
}

void SweepProgress::make_room() {
  const std::lock_guard lock(mutex_);
  if (drawn_) sink_.write("\r\x1b[K");
  drawn_ = false;
}

void SweepProgress::finish() {
  const std::lock_guard lock(mutex_);
  if (finished_ || quiet_) return;
  if (!shown_) show();
  if (drawn_) sink_.write("\n");
  finished_ = true;
}

void SweepProgress::show_if_due() {
  shown_ = false;
  if (quiet_ || finished_) return;
  const double now = sink_.seconds();
  const double since = now - last_shown_;
  const bool due = sink_.terminal ? !drawn_ || since >= kRedrawSeconds
                                  : since >= std::max(kLineSeconds, kLineShare * (now - start_));
  if (due) show();
}

void SweepProgress::show() {
  last_shown_ = sink_.seconds();
  shown_ = true;
  const std::string plain = text();
  if (!sink_.terminal) {
    sink_.write(plain + "\n");
    return;
  }
  // The last column stays free: a terminal may wrap when it is filled.
  const std::size_t columns = std::max<std::uint32_t>(sink_.width(), 2) - 1;
  sink_.write(fmt::format("\r{}\x1b[K", std::string_view(plain).substr(0, columns)));
  drawn_ = true;
}

std::string SweepProgress::text() const {
  double known_work = 0;
  std::size_t known = 0;
  for (const Run& run : runs_) {
    known_work += run.work;
    known += run.work > 0 ? 1 : 0;
  }
  const double mean_work = known > 0 ? known_work / static_cast<double>(known) : 1.0;
  double made = 0;      // by this sweep
  double all = 0;       // of this sweep and before
  double finished = 0;  // likewise
  std::size_t done = 0;
  std::uint64_t rounds = 0;
  for (const Run& run : runs_) {
    const double work = run.work > 0 ? run.work : mean_work;
    const double per_round = run.rounds > 0 ? work / run.rounds : 0;
    const std::uint32_t here = run.first > 0 ? run.last - run.first + 1 : 0;
    rounds += here;
    all += work;
    done += run.done ? 1 : 0;
    finished += run.done ? work : per_round * run.last;
    made += run.known_before ? 0 : per_round * here;
  }
  const double elapsed = sink_.seconds() - start_;
  std::string line = fmt::format("{}/{} runs  {:.0f} %", done, runs_.size(), all > 0 ? 100 * finished / all : 100.0);
  if (elapsed > 0 && rounds > 0) line += fmt::format("  {:.3g} rounds/s", static_cast<double>(rounds) / elapsed);
  if (done == runs_.size()) return line + fmt::format("  {} in all", duration_text(elapsed));
  if (elapsed > 0 && made > 0) line += fmt::format("  {} left", duration_text(elapsed / made * (all - finished)));
  return line;
}

}  // namespace muster
