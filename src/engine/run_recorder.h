// RunRecorder: what a run tells the outside as it goes: lines in its folder, TensorBoard events, progress on stderr. A
// round is recorded whole or not at all.
#pragma once

#include <future>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/rows.h"
#include "engine/simulation.h"
#include "record/progress.h"
#include "record/run_folder.h"
#include "record/tensorboard.h"

namespace muster {

class RunRecorder {
 public:
  // `folder` and `options` are borrowed. Progress goes to `sink`.
  RunRecorder(RunFolder& folder, const SimulationOptions& options, ProgressSink sink = stderr_progress())
      : folder_(folder), options_(options), progress_(options.quiet, std::move(sink)) {}

  // Before the first round: `first` of `rounds` comes next. `keys` are the recipe's.
  [[nodiscard]] Status begin(std::uint32_t rounds, std::uint32_t first,
                             const std::map<std::string, std::string>& keys = {});
  void begin_round(std::uint32_t round) { progress_.begin_round(round); }
  // What the run is doing, and how far it is with it, where that is known.
  void phase(std::string_view what, std::size_t done = 0, std::size_t total = 0);
  void training(std::size_t groups_done, std::size_t groups);
  // For people; each text once.
  void say(const std::string& note);
  // A line for groups.jsonl, written with the round that it belongs to: the one before may still wait to be recorded.
  void add_grouping(std::uint32_t round, std::string line) { groupings_.emplace_back(round, std::move(line)); }
  // Groups were formed: whether they are to be shown as a picture. The first are, the fourth, the sixteenth, and so
  // on: where groups are formed every round, a picture of each would take longer than the rounds.
  [[nodiscard]] bool wants_picture();
  // `counts`: label counts, a row per group. It is drawn beside the training.
  void add_picture(std::uint32_t round, Rows<std::uint64_t> counts);
  [[nodiscard]] Status round(const RoundRecord& record);
  // The last round again, which has been evaluated after all.
  [[nodiscard]] Status amend(const RoundRecord& record, const std::string& line);
  // No more progress is shown. `over`: the run is, and was not interrupted.
  void finish(bool over);

 private:
  // The picture that was added last; if it is still being drawn, only with `wait`.
  void write_picture(bool wait);
  void write_training_events(const RoundRecord& record);
  void write_evaluation_events(const RoundRecord& record);
  void scalar(const RoundRecord& record, const std::string& tag, const std::optional<double>& value);

  RunFolder& folder_;
  const SimulationOptions& options_;
  std::optional<EventWriter> events_;
  Progress progress_;
  std::vector<std::pair<std::uint32_t, std::string>> groupings_;  // not written yet; ascending by round
  std::uint64_t formed_ = 0;                                      // groupings
  std::uint32_t picture_round_ = 0;
  std::future<Result<std::string>> picture_;
  std::set<std::string> said_;
};

// The line of a round with what its evaluation found, of `record`. Fails if the line is no JSON object.
[[nodiscard]] Result<std::string> with_evaluation(const std::string& line, const RoundRecord& record);

}  // namespace muster
