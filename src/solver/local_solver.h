// LocalSolver: a client's local training — epochs of shuffled mini-batches from the received model — and evaluation of
// a model on some samples. In: a task; out: an update, or the reason why there is none.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/ids.h"
#include "base/rows.h"
#include "clients/client_state.h"
#include "clients/dropped.h"
#include "data/federated_data.h"
#include "model/executor.h"
#include "solver/objective.h"

namespace muster {

// The [local] section of a recipe.
struct LocalOptions {
  double epochs = 1;                   // may be fractional: 1.5 is one epoch and half the batches of another
  std::optional<std::uint32_t> steps;  // mini-batch steps instead of epochs
  std::uint32_t batch_size = 32;
  double learning_rate = 0.01;
  double learning_rate_decay = 1;  // factor per round
  double momentum = 0;
  double weight_decay = 0;
  std::string optimizer = "sgd";         // sgd | adam
  std::optional<double> adapt_epochs;    // growth of the epochs of clients that lag behind; not set: all train `epochs`
  double loss_tolerance = 0.02;          // a client lags if its summed loss exceeds the largest client's by this share
  std::string epoch_rounding = "round";  // round | ceil | fractional: of adapted epochs
  bool keep_optimizer = false;           // a client's momentum or Adam state outlives the task
  std::uint32_t state_limit_mb = 512;    // per-client state in memory; more goes to the run's folder
  ObjectiveOptions objective;
};

struct LocalUpdate {
  ClientId client;
  std::vector<float> model;    // the flat vector after training
  std::vector<float> payload;  // what the objective sends besides it; may be empty
  std::uint32_t samples = 0;   // the client's training samples: its weight
  std::uint64_t steps = 0;
  std::uint64_t samples_trained = 0;
  double loss = 0;                   // mean over the samples of the last epoch, each before its step
  std::optional<double> loss_after;  // mean over all samples after training, where it was asked for
};

using TrainReply = std::variant<LocalUpdate, Dropped>;

// How long a client trains.
struct LocalWork {
  double epochs = 1;
  std::optional<std::uint32_t> steps;  // instead of epochs
};

struct TrainTask {
  ClientId client;
  std::uint32_t round = 0;
  std::uint32_t part = 0;            // tells repeated visits of one client in one round apart
  std::span<const float> model;      // as received
  std::span<const float> broadcast;  // for the objective; may be empty
  double work = 1;                   // share of the usual epochs or steps, for stragglers
  bool own_model = false;            // start from, and keep, the client's own model (local training without a server)
  std::optional<double> epochs;      // instead of the recipe's
  bool measure = false;              // report the loss after training
  // Set for a trial, and says how long it is. The client minimises its own loss alone, and nothing of it is kept.
  std::optional<LocalWork> trial;
};

struct Evaluation {
  std::uint64_t samples = 0;
  std::uint64_t correct = 0;
  double loss_sum = 0;
};

// Where a solver's time goes, in seconds.
struct SolverTimes {
  double train_s = 0;     // all of train(), of which
  double samples_s = 0;   // having the client's samples (virtual clients generate them)
  double gather_s = 0;    // batches as floats
  double evaluate_s = 0;  // all of evaluate() and evaluate_client()
  ExecutorTimes executor;
};

// One per worker; not thread-safe. `data`, `objective` and `states` outlive it and are shared.
class LocalSolver {
 public:
  LocalSolver(std::shared_ptr<const Network> network, const FederatedData& data, LocalOptions options,
              const Augmentation& augmentation, const Objective& objective, ClientStates& states, std::uint64_t seed);

  // `reuse` donates memory for the update's vectors. Fails only if client state cannot be read or written.
  [[nodiscard]] Result<TrainReply> train(const TrainTask& task, LocalUpdate reuse = {});

  // Evaluates `model` on the view. `version` tells models apart: one that is not 0 and was loaded last is not loaded
  // again, so equal versions must mean equal values.
  [[nodiscard]] Evaluation evaluate(std::span<const float> model, const SampleView& view, std::uint64_t version = 0);
  // Each model on all of the client's own training samples, without augmentation.
  [[nodiscard]] std::vector<Evaluation> evaluate_training(const RowsView<float>& models, ClientId client);
  // The outputs before the softmax, a row of network().outputs() per sample, and the samples' labels.
  void evaluate_outputs(std::span<const float> model, const SampleView& view, std::span<float> outputs,
                        std::span<std::int32_t> labels);
  // On the client's own test samples; with `own_model` the client's own model where it has one, else `model`,
  // which must then be given.
  [[nodiscard]] Result<Evaluation> evaluate_client(std::span<const float> model, ClientId client, bool own_model,
                                                   std::uint64_t version = 0);

  [[nodiscard]] const Network& network() const { return executor_.network(); }
  [[nodiscard]] const FederatedData& data() const { return data_; }

  // Adds to `times` (borrowed) from now on; null: no more, which is the default.
  void set_times(SolverTimes* times) { times_ = times; }

 private:
  [[nodiscard]] double* timed(double SolverTimes::*seconds) { return times_ ? &(times_->*seconds) : nullptr; }
  [[nodiscard]] std::uint64_t step_budget(const LocalWork& wanted, std::uint32_t samples, double share) const;
  // Of the model that is loaded.
  [[nodiscard]] Evaluation evaluate_loaded(const SampleView& view);
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

  SolverTimes* times_ = nullptr;
  Executor executor_;
  std::uint64_t loaded_version_ = 0;  // of the model in the executor; 0 = none that is known
  SampleBuffer buffer_;
  std::vector<std::uint32_t> order_;
  std::vector<std::int32_t> fixed_labels_;
  ObjectiveTerm term_;
  std::vector<float> own_model_;
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

}  // namespace muster
