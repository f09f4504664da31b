// RunState: where a run is, and what decides whether it goes on. What a checkpoint must carry, besides models, groups,
// observers and clients' memory, for a resumed run to end like an uninterrupted one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "recipe/recipe.h"
#include "record/checkpoint.h"
#include "record/run_record.h"
#include "record/run_totals.h"

namespace muster {

struct RunState {
  std::uint32_t round = 0;           // the last finished one
  std::uint64_t chain = 0;           // hash of all records so far
  std::uint32_t broken_rounds = 0;   // in a row, in which nobody sent anything finite
  std::uint32_t diverged_round = 0;  // the first whose loss was not finite; 0 = none
  RunTotals totals;

  // A round has been trained: its cost, and whether anything finite came of it.
  void add_training(const RoundRecord& record);
  // A round has been evaluated. What covers only some of the clients, and what `budget` did not pay for, is neither the
  // best nor does it reach a target.
  void add_evaluation(const Recipe& recipe, const RoundRecord& record);
  // Chains what the round decided to the hash: no times, nothing that depends on the machine's load.
  void sign(const RoundRecord& record);
  // Chains a model that stays with its client, so that the signature knows of it.
  void sign_own_model(std::uint64_t hash);

  // Whether the run is over. Divergence shows when a round is evaluated, which may be beside the next one's training;
  // so the round after is trained in any case, and the run stops there wherever it was interrupted or saved.
  [[nodiscard]] std::optional<StopReason> stop_reason(const Recipe& recipe) const;

  void save(Checkpoint& checkpoint) const;
  // `recipe` may have another target than the run that was saved. On failure the state is partly overwritten.
  [[nodiscard]] Status restore(const Checkpoint& checkpoint, const Recipe& recipe);
};

}  // namespace muster
