// RoundLoop: form groups if they are due, draw who takes part, train, merge, evaluate, record, perhaps save; until
// something stops the run. Sees its clients through the Federation only.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "engine/adaptive_epochs.h"
#include "engine/best_round.h"
#include "engine/cost_meter.h"
#include "engine/groups.h"
#include "engine/loss_history.h"
#include "engine/merge_watch.h"
#include "engine/models.h"
#include "engine/noise_record.h"
#include "engine/observed_round.h"
#include "engine/participation.h"
#include "engine/privacy_budget.h"
#include "engine/run_evaluation.h"
#include "engine/run_recorder.h"
#include "engine/run_state.h"
#include "train/federation.h"

namespace muster {

class RoundLoop {
 public:
  // All but the recipe are borrowed; `oracle` may be null. Fails if the recipe does not fit the federation.
  [[nodiscard]] static Result<std::unique_ptr<RoundLoop>> make(const Recipe& recipe, Federation& federation,
                                                               const Oracle* oracle, RunFolder& folder,
                                                               RunRecorder& recorder, const SimulationOptions& options);

  // Trains until something stops the run, and saves a checkpoint then.
  [[nodiscard]] Result<StopReason> run();
  // The last model of a run that is over, if its round was not evaluated: what the summary says must be of the model
  // that is saved. Not in the checkpoint: a run that goes on after all does not know of it.
  [[nodiscard]] Status evaluate_end(StopReason& reason);
  // After that: goes back to the models of the best round where the recipe keeps them, and looks closely at the models
  // that the run leaves, unless it was interrupted. Nothing may be trained any more.
  [[nodiscard]] Status score_kept(StopReason reason);

  // The newest checkpoint that is whole and of this recipe; without any, the run starts anew.
  [[nodiscard]] Status load_checkpoint();

  // All is ready: what came before, from `begun_s` on, was setting up. Called once, before run().
  void end_setup(double begun_s);

  [[nodiscard]] const RunState& state() const { return state_; }
  [[nodiscard]] const Models& models() const { return *models_; }
  [[nodiscard]] const Groups& groups() const { return *groups_; }
  [[nodiscard]] ClientTally tally(ClientId client) const;
  // Null where the run is not private.
  [[nodiscard]] const PrivacyBudget* privacy() const { return privacy_.get(); }
  // How far the attack succeeds with the models that the run leaves; not set where there is none to measure.
  [[nodiscard]] std::optional<double> attack_success() const { return attack_success_; }
  [[nodiscard]] std::span<const float> client_accuracy() const { return evaluation_->client_accuracy(); }
  // Null where there are no validation samples.
  [[nodiscard]] const BestRound* best() const { return best_.get(); }
  // Whose models the run leaves, and what is told of them; without score_kept() the last round, and nothing.
  [[nodiscard]] std::uint32_t kept_round() const { return kept_round_.value_or(state_.round); }
  [[nodiscard]] const RunEvaluation::Final& final_figures() const { return final_; }
  [[nodiscard]] std::string signature() const;
  // Hash of the weights that the run began with: equal for recipes with the same model and seed.
  [[nodiscard]] const std::string& initial_model() const { return initial_model_; }
  // Of the whole run so far, also before it was resumed.
  [[nodiscard]] double wall_s() const;

 private:
  RoundLoop(const Recipe& recipe, Federation& federation, RunFolder& folder, RunRecorder& recorder,
            const SimulationOptions& options);
  [[nodiscard]] double* timed(double RunTimes::*seconds) const;
  void add_observers();
  [[nodiscard]] Status check_observers(std::uint32_t round) const;
  Status make_private();

  Status next_round();
  Status form_groups(RoundRecord& record);
  Result<RoundPlan> draw(RoundRecord& record);
  Status place(RoundRecord& record, std::span<const ClientId> waiting);
  Status train(const RoundPlan& plan, RoundRecord& record);
  Status follow_event(RoundRecord& record);
  Status conclude(RoundRecord record);
  void account(GroupsFormed& formed, RoundRecord& record);
  [[nodiscard]] std::optional<StopReason> stop_reason() const;
  [[nodiscard]] bool may_wait(const RoundRecord& record) const;
  [[nodiscard]] bool interrupted() const { return options_.interrupt && *options_.interrupt; }
  Status settle();
  Status enter(const EvaluationResult& result, RoundRecord& record);
  Status validate(RoundRecord& record);
  Result<std::optional<double>> measure_attack(std::uint32_t round);
  void keep_if_best(const RoundRecord& record);
  Status go_back_to(const Checkpoint& kept);
  Status complete(const RoundRecord& record);
  Status save_checkpoint();
  Status restore(const Checkpoint& checkpoint);

  Recipe recipe_;
  Federation& federation_;
  RunFolder& folder_;
  RunRecorder& recorder_;
  const SimulationOptions& options_;
  const Attackers* attackers_ = nullptr;  // of the oracle: measured, and recorded

  std::unique_ptr<NoiseRecord> noise_;  // of private runs, where it does not come from the seed
  std::unique_ptr<Groups> groups_;
  std::unique_ptr<Models> models_;
  std::unique_ptr<RunEvaluation> evaluation_;
  std::unique_ptr<BestRound> best_;
  RunState state_;
  std::string initial_model_;
  std::optional<std::uint32_t> kept_round_;
  RunEvaluation::Final final_;
  std::optional<double> attack_success_;
  std::string last_line_;                  // of rounds.jsonl, as the round left it
  std::optional<RoundRecord> waiting_;     // the round whose evaluation goes on beside the next one's training
  std::optional<std::uint64_t> end_hash_;  // of an evaluation at the end that belongs to no round
  double started_s_ = 0;

  // Observers, in the order in which they are called.
  std::vector<RoundObserver*> observers_;
  Participation participation_;
  CostMeter cost_;
  std::unique_ptr<MergeWatch> merges_;  // where a rule may leave models out
  std::unique_ptr<PrivacyBudget> privacy_;
  std::unique_ptr<LossHistory> losses_;
  std::unique_ptr<AdaptiveEpochs> adaptive_;
  std::unique_ptr<ObservedRound> observed_;
  std::unique_ptr<RoundObserver> discrepancy_;
};

}  // namespace muster
