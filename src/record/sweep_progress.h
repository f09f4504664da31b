// SweepProgress: how far many runs side by side are, on stderr. One live line with the time left on a terminal, a few
// plain lines elsewhere.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "record/progress.h"

namespace muster {

// Thread-safe.
class SweepProgress {
 public:
  // `runs` are to be done; quiet: writes nothing.
  SweepProgress(std::size_t runs, bool quiet, ProgressSink sink);
  ~SweepProgress();
  SweepProgress(const SweepProgress&) = delete;
  SweepProgress& operator=(const SweepProgress&) = delete;

  // What all of the run's rounds cost, compared with other runs'; until it is known the run counts like the mean of
  // those of which it is.
  void expect(std::size_t run, double work, std::uint32_t rounds);
  // The run has finished `round`. What was done before the first call for the run does not count for the time left.
  void round(std::size_t run, std::uint32_t round);
  // The run is over; `now`: this sweep has run it.
  void done(std::size_t run, bool now);
  // Clears the live line, so that something else can be written; it comes back with what is shown next.
  void make_room();
  // Shows where it ended and leaves the cursor on a fresh line. Also done by the destructor.
  void finish();

 private:
  struct Run {
    double work = 0;  // 0 = not known
    std::uint32_t rounds = 0;
    std::uint32_t first = 0;  // that this sweep did; 0 = none yet
    std::uint32_t last = 0;
    bool done = false;
    bool known_before = false;
  };
  void show_if_due();
  void show();
  [[nodiscard]] std::string text() const;

  std::mutex mutex_;
  ProgressSink sink_;
  bool quiet_;
  std::vector<Run> runs_;
  double start_;
  double last_shown_;
  bool drawn_ = false;  // a line is there to be drawn over
  bool shown_ = false;  // the last change is
  bool finished_ = false;
};

}  // namespace muster
