// How a run learned: accuracy and loss by round, by bytes, by simulated and measured time; what it took to reach a
// target.
#pragma once

#include <functional>
#include <vector>

#include "report/figure.h"
#include "report/run_records.h"

namespace muster {

// The x axes of every curve over rounds, and where a round is on each.
struct RoundAxis {
  Axis axis;
  double (*place)(const RecordedRound& round);
};
[[nodiscard]] const std::vector<RoundAxis>& round_axes();

// Which rounds of many are drawn, at most about `most`: of each stretch those with the lowest and the highest accuracy
// (or training loss, where none was evaluated), so that no peak is lost; the first and the last.
[[nodiscard]] std::vector<std::size_t> drawn_rounds(const std::vector<RecordedRound>& rounds, std::size_t most);

[[nodiscard]] std::vector<Figure> learning_figures(const RunRecords& run, std::size_t most_points);

}  // namespace muster
