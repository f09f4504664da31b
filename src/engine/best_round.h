// BestRound: which round had the best validation accuracy, for how long there has been no better one, and, where the
// recipe keeps the best models, what they were. Decides on validation samples alone, never on tests.
#pragma once

#include <cstdint>
#include <optional>

#include "recipe/recipe.h"
#include "record/checkpoint.h"
#include "record/run_record.h"

namespace muster {

class BestRound {
 public:
  explicit BestRound(const Recipe& recipe);

  // An evaluated round. True if it is the best so far and its models are to be kept. Rounds whose validation covers
  // only some of the clients, whose loss is not finite or that `budget` did not pay for are passed over: they are not
  // the best, nor does patience run out by them.
  [[nodiscard]] bool add(const RoundRecord& record);
  // The models of that round, as sections of a checkpoint of their own.
  void keep(Checkpoint models) { kept_ = std::move(models); }
  [[nodiscard]] const std::optional<Checkpoint>& kept() const { return kept_; }

  // stop.patience evaluations in a row were not better than the best before them by more than stop.min-delta.
  [[nodiscard]] bool out_of_patience() const { return patience_ && without_better_ >= *patience_; }

  // Of the first round with the highest validation accuracy; 0 and nothing if there is none yet.
  [[nodiscard]] std::uint32_t round() const { return round_; }
  [[nodiscard]] const std::optional<double>& validation_accuracy() const { return validation_; }
  // On the tests, in that round.
  [[nodiscard]] const std::optional<double>& accuracy() const { return accuracy_; }
  [[nodiscard]] const std::optional<double>& loss() const { return loss_; }

  void save(Checkpoint& checkpoint) const;
  // On failure, which names what is wrong, the object is partly overwritten.
  [[nodiscard]] Status restore(const Checkpoint& checkpoint);

 private:
  const std::optional<double> budget_;
  const std::optional<std::uint32_t> patience_;
  const double min_delta_;
  const bool keeps_;

  std::uint32_t round_ = 0;
  std::optional<double> validation_;
  std::optional<double> accuracy_;
  std::optional<double> loss_;
  std::optional<double> to_beat_;     // what patience compares with: rises by more than min_delta_ at a time
  std::uint32_t without_better_ = 0;  // evaluations
  std::optional<Checkpoint> kept_;
};

}  // namespace muster
