// Progress: how far a run is, on stderr. A live bar with the time left on a terminal, a few plain lines elsewhere.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace muster {

// Where progress goes, and what tells the time. Tests give their own.
struct ProgressSink {
  std::function<void(std::string_view)> write;
  std::function<double()> seconds;       // a clock that never goes back
  std::function<std::uint32_t()> width;  // columns of the terminal, asked at each redraw
  bool terminal = false;
};
[[nodiscard]] ProgressSink stderr_progress();

// Not thread-safe: the round loop owns it.
class Progress {
 public:
  // Rounds `first_round` to `total_rounds` are to come, both included; quiet: writes nothing.
  Progress(bool quiet, std::uint32_t total_rounds, std::uint32_t first_round);
  Progress(bool quiet, std::uint32_t total_rounds, std::uint32_t first_round, ProgressSink sink);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // `round` is finished; `text` is what to show of it, e.g. "accuracy 0.8812 loss 0.345". Redraws a bar at most ten
  // times a second. Lines: at each tenth of the rounds, and between them when two seconds and a twentieth of the time
  // so far have passed since the last line, so that a log stays short however long the run.
  void round(std::uint32_t round, std::string_view text);

  // Shows the last round if it is not yet shown and leaves the cursor on a fresh line. Also done by the destructor.
  void finish();

 private:
  void show();

  ProgressSink sink_;
  bool quiet_;
  bool finished_ = false;
  bool pending_ = false;  // the last round is not shown yet
  bool drawn_ = false;    // a bar is on the current line
  std::uint32_t total_;
  std::uint32_t first_;
  std::uint32_t round_;
  double start_;
  double last_shown_;
  std::uint32_t tenths_shown_ = 0;
  std::string text_;
};

}  // namespace muster
