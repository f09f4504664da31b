// WatchScreen: a run as a small live plot on a terminal, above the line that tells how far it is. It only ever moves
// the cursor up over what it drew itself and changes no mode of the terminal, so however the program ends, the terminal
// is as it was, with the last plot above the prompt.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "record/progress.h"
#include "record/run_record.h"

namespace muster {

struct WatchStyle {
  bool colour = false;
  bool unicode = false;  // dots of Braille instead of stars
};
// By the environment: no colour where NO_COLOR is set; Unicode where the locale says so.
[[nodiscard]] WatchStyle watch_style(const std::function<const char*(const char*)>& environment);

// What is drawn: accuracies by round, and how many groups there were.
struct WatchedRounds {
  struct Point {
    std::uint32_t round = 0;
    double value = 0;
  };
  std::vector<Point> accuracy;
  std::vector<Point> groups;  // formed
  std::string now;            // the last round's groups in words; "" = there are none

  void add(const RoundRecord& record);
};

// The lines of the plot for a terminal of that many columns, `height` of them for the curve; none is wider. Nothing
// before the first round.
[[nodiscard]] std::vector<std::string> watch_lines(const WatchedRounds& rounds, std::uint32_t columns,
                                                   std::uint32_t height, const WatchStyle& style);

// Where the sink is no terminal, it passes everything on and draws nothing. Calls come one at a time.
class WatchScreen {
 public:
  // `rows`: lines of the terminal, asked at each redraw. `interrupt`, which may be null: when it becomes true something
  // else was written in between. Both are borrowed.
  WatchScreen(ProgressSink terminal, std::function<std::uint32_t()> rows, WatchStyle style,
              const std::atomic<bool>* interrupt);

  // For Progress: its line goes below the plot.
  [[nodiscard]] ProgressSink sink();
  void record(const RoundRecord& record);
  // A line for people, above the plot.
  void note(std::string_view text);

 private:
  void write(std::string_view text);
  void draw();
  // Takes the plot and the line below it away.
  void erase();

  ProgressSink terminal_;
  std::function<std::uint32_t()> rows_;
  WatchStyle style_;
  const std::atomic<bool>* interrupt_;
  bool interrupted_ = false;
  WatchedRounds rounds_;
  std::string line_;             // of Progress, below the plot
  std::uint32_t columns_ = 0;    // when it was drawn
  std::size_t drawn_lines_ = 0;  // above the line of the cursor
};

// Lines of the terminal that is stderr; 24 where that is not known.
[[nodiscard]] std::uint32_t stderr_rows();

}  // namespace muster
