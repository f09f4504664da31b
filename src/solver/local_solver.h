// LocalSolver: a client's local training — epochs of shuffled mini-batches from the received model — and evaluation of
// a model on some samples. In: a task; out: an update, or the reason why there is none.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/ids.h"
#include "base/rows.h"
#include "clients/client_state.h"
#include "data/federated_data.h"
#include "model/executor.h"
#include "solver/attack.h"
#include "solver/local_options.h"
#include "solver/local_task.h"
#include "solver/model_parts.h"
#include "solver/objective.h"
#include "solver/output_match.h"
#include "solver/solver_times.h"

namespace muster {

// One per worker; not thread-safe. `data`, `objective` and `states` outlive it and are shared.
class LocalSolver {
 public:
  LocalSolver(std::shared_ptr<const Network> network, const FederatedData& data, LocalOptions options,
              const Augmentation& augmentation, const Objective& objective, ClientStates& states, std::uint64_t seed,
              ModelParts parts = {});

  // `reuse` donates memory for the update's vectors. Fails only if client state cannot be read or written.
  [[nodiscard]] Result<TrainReply> train(const TrainTask& task, LocalUpdate reuse = {});

  // Evaluates `model` on the view. `version` tells models apart: one that is not 0 and was loaded last is not loaded
  // again, so equal versions must mean equal values.
  [[nodiscard]] Evaluation evaluate(std::span<const float> model, const SampleView& view, std::uint64_t version = 0,
                                    const Details& details = {});
  // Each model, with the client's personal part in its place, on all of its own training samples, without augmentation.
  [[nodiscard]] Result<std::vector<Evaluation>> evaluate_training(const RowsView<float>& models, ClientId client);
  // The outputs before the softmax, a row of network().outputs() per sample, and the samples' labels.
  void evaluate_outputs(std::span<const float> model, const SampleView& view, std::span<float> outputs,
                        std::span<std::int32_t> labels);
  // On the client's own test or validation samples, as the client would use the model: its own model instead where it
  // has one, or with its personal part, or tuned on its training samples.
  [[nodiscard]] Result<Evaluation> evaluate_client(const EvaluateTask& task);
  // On some of the server's own samples of that kind. Precondition: there are so many.
  [[nodiscard]] SampleView global_samples(HeldOut held_out) const;
  [[nodiscard]] Evaluation evaluate_global(std::span<const float> model, HeldOut held_out, std::size_t first,
                                           std::size_t count, std::uint64_t version, const Details& details);

  // Some clients are malicious (borrowed): their training samples are poisoned.
  void set_attackers(const Attackers* attackers) { attackers_ = attackers; }

  [[nodiscard]] const Network& network() const { return executor_.network(); }
  [[nodiscard]] const FederatedData& data() const { return data_; }
  [[nodiscard]] std::size_t arena_bytes() const { return executor_.arena_bytes(); }

  // Adds to `times` (borrowed) from now on; null: no more, which is the default.
  void set_times(SolverTimes* times) { times_ = times; }

 private:
  [[nodiscard]] double* timed(double SolverTimes::*seconds) { return times_ ? &(times_->*seconds) : nullptr; }
  [[nodiscard]] std::uint64_t step_budget(const LocalWork& wanted, std::uint32_t samples, double share) const;
  [[nodiscard]] StepRule step_rule(float pull, std::uint32_t round) const;
  // Makes `model` what steps on the objective begin from, with nothing left of the task before.
  void load_for(const TrainTask& task, std::span<const float> model, const Objective& objective);

  // One training of the loaded model.
  struct Walk {
    std::uint64_t budget = 0;       // steps
    std::uint32_t first_epoch = 0;  // of the task, so that no two walks of it draw the same batches
    std::span<const ParameterRange> frozen = {};
  };
  struct Walked {
    std::uint64_t steps = 0;
    std::uint64_t samples = 0;
    std::uint32_t epochs = 0;  // begun
    double loss = 0;           // of the last epoch
    bool finite = true;
  };
  Walked walk(const TrainTask& task, const SampleView& view, const StepRule& rule, const Walk& planned);
  // All that a task of a round, or a trial, walks.
  Walked walk_parts(const TrainTask& task, const SampleView& view, const StepRule& rule, std::uint64_t budget);

  // Carry the optimizer's state over from and to other tasks of the client. Without one it stays zero.
  [[nodiscard]] Status load_optimizer(ClientId client, std::uint8_t slot);
  [[nodiscard]] Status keep_optimizer(ClientId client, std::uint8_t slot);

  // `model` with what the client keeps in the place of its personal part: `model` itself if it keeps nothing, else
  // own_model_.
  [[nodiscard]] Result<std::span<const float>> with_personal_part(std::span<const float> model, ClientId client);
  // Trains the model that the client keeps for itself, from where it was, or from the received one, and keeps it.
  // Returns the samples trained on.
  [[nodiscard]] Result<std::uint64_t> train_own_model(const TrainTask& task, const SampleView& view,
                                                      std::uint64_t budget);
  // Of the model that is loaded.
  [[nodiscard]] Evaluation evaluate_loaded(const SampleView& view, const Details& details = {});
  // Freezes the model that is loaded, where training looks at it.
  void freeze_received(const Objective& objective);
  // Loads the model and trains it on the client's samples, for an evaluation.
  void tune(const EvaluateTask& task, std::span<const float> model);
  // Makes all of the client's samples, in order, the executor's fixed rows.
  void begin_fixed_rows(const SampleView& view);
  // The mean gradient over all of the client's samples at the loaded model.
  void compute_full_gradient(const SampleView& view);

  const FederatedData& data_;
  const LocalOptions options_;  // batch_size is at most what the largest client has
  const Augmentation augmentation_;
  const Objective& objective_;
  const std::unique_ptr<Objective> plain_ = make_plain();  // of trials
  ClientStates& states_;
  const std::uint64_t seed_;
  const ModelParts parts_;
  const std::unique_ptr<Objective> own_objective_;  // of the model that a client keeps beside; null = it keeps none

  // The client's training samples. What a malicious one does to them is done by gather_batch().
  [[nodiscard]] SampleView train_view(ClientId client);
  // What is done to held-out samples.
  [[nodiscard]] const Poison* poison_of(HeldOut held_out) const;
  // gather(), and then poison_.
  void gather_batch(const SampleView& view, std::span<const std::uint32_t> positions, const Augmentation& augmentation,
                    Stream* stream, float* out, std::int32_t* labels) const;
  [[nodiscard]] Evaluation evaluate_view(std::span<const float> model, const SampleView& view, std::uint64_t version,
                                         const Details& details);

  SolverTimes* times_ = nullptr;
  const Attackers* attackers_ = nullptr;
  const Poison* poison_ = nullptr;  // of the samples that are worked on
  Executor executor_;
  std::uint64_t loaded_version_ = 0;  // of the model in the executor; 0 = none that is known
  SampleBuffer buffer_;
  std::vector<std::uint32_t> order_;
  std::vector<std::int32_t> fixed_labels_;
  ObjectiveTerm term_;
  OutputMatch output_match_;
  std::vector<float> own_model_;
  std::vector<float> personal_;
  std::vector<float> outputs_;
  std::vector<float> state_;
  std::vector<float> next_state_;
  std::vector<float> full_gradient_;
  std::vector<float> batch_gradient_;
  std::vector<double> gradient_sum_;
  std::vector<float> optimizer_state_;
};

// Slots of ClientStates.
inline constexpr std::uint8_t kObjectiveSlot = 0;
inline constexpr std::uint8_t kOptimizerSlot = 1;
inline constexpr std::uint8_t kModelSlot = 2;
inline constexpr std::uint8_t kPersonalSlot = 3;
inline constexpr std::uint8_t kOwnOptimizerSlot = 4;  // of the model in kModelSlot, where it is trained beside another
inline constexpr std::array kStateSlots{kObjectiveSlot, kOptimizerSlot, kModelSlot, kPersonalSlot, kOwnOptimizerSlot};

}  // namespace muster
