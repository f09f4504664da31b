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
  // What is shown besides, e.g. how many clients of a deployment are here; "": nothing. Asked by whoever shows
  // progress.
  std::function<std::string()> remark = {};
};
[[nodiscard]] ProgressSink stderr_progress();

// "41s", "2m05s", "3h20m".
[[nodiscard]] std::string duration_text(double seconds);
// A bar that is full at share 1.
[[nodiscard]] std::string progress_bar(double share);

// Calls come one at a time, from the round loop or from whoever works for it meanwhile.
class Progress {
 public:
  // The run begins now; quiet: writes nothing.
  Progress(bool quiet, ProgressSink sink);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Rounds `first_round` to `total_rounds` are to come, both included.
  void begin_rounds(std::uint32_t total_rounds, std::uint32_t first_round);
  // The run now works on `round`; the one before may be recorded later, when its evaluation is done.
  void begin_round(std::uint32_t round) { current_ = round; }
  // A round's groups begin to train. What the run does before the first call (profiles, grouping) comes once, so the
  // time left is not judged by it.
  void begin_training();

  // What goes on now: `done` of `total` clients or groups, as `unit` says; nothing is said of them if total is 0.
  // The very first is shown at once, any other if the last thing shown is old enough: a bar is redrawn at most ten
  // times a second, lines come when two seconds and a twentieth of the time so far have passed, so that a log stays
  // short however long the run.
  void phase(std::string_view what, std::size_t done = 0, std::size_t total = 0, std::string_view unit = {});

  // `round` is finished; `text` is what to show of it, e.g. "accuracy 0.8812 loss 0.345". As often as phases; lines
  // also at each tenth of the rounds.
  void round(std::uint32_t round, std::string_view text);

  // Clears the bar, so that something else can be written; it comes back with what is shown next.
  void make_room();

  // Shows the last round if it is not yet shown and leaves the cursor on a fresh line. Also done by the destructor.
  void finish();

 private:
  [[nodiscard]] bool due(double now) const;
  [[nodiscard]] std::string remark() const;
  void show_round();
  void show(const std::string& plain, bool with_bar);

  ProgressSink sink_;
  bool quiet_;
  bool finished_ = false;
  bool pending_ = false;  // the last round is not shown yet
  bool drawn_ = false;    // a bar is on the current line
  bool shown_ = false;    // anything at all
  std::uint32_t total_ = 0;
  std::uint32_t first_ = 1;
  std::uint32_t round_ = 0;    // the last finished
  std::uint32_t current_ = 1;  // what phases belong to
  double start_;
  double last_shown_;
  double training_start_;
  bool training_ = false;
  std::string phase_;
  double phase_start_ = 0;
  std::uint32_t tenths_shown_ = 0;
  std::string text_;
};

}  // namespace muster
