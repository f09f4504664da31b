#include "solver/local_solver.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/finite.h"
#include "base/stopwatch.h"
#include "solver/learning_rate.h"

namespace muster {
namespace {

constexpr std::uint32_t kEvaluationBatch = 128;

Optimizer optimizer_of(const LocalOptions& options) {
  if (options.optimizer == "adam") return Optimizer::kAdam;
  return options.momentum > 0 ? Optimizer::kMomentum : Optimizer::kSgd;
}

// A batch never holds more than all of a client's samples, and memory is laid out for the largest batch.
LocalOptions fit_batches(LocalOptions options, const FederatedData& data) {
  options.batch_size = std::clamp(options.batch_size, 1u, std::max(1u, data.largest_train_count()));
  return options;
}

std::uint32_t batches_of(std::uint32_t samples, std::uint32_t batch_size) {
  return samples / batch_size + (samples % batch_size > 0 ? 1 : 0);
}

// More steps than any run can take; a larger number would not fit an integer.
std::uint64_t whole_steps(double steps) {
  return static_cast<std::uint64_t>(std::clamp(steps, 0.0, 0x1.0p53));
}

}  // namespace

LocalSolver::LocalSolver(std::shared_ptr<const Network> network, const FederatedData& data, LocalOptions options,
                         const Augmentation& augmentation, const Objective& objective, ClientStates& states,
                         std::uint64_t seed)
    : data_(data),
      options_(fit_batches(std::move(options), data)),
      augmentation_(augmentation),
      objective_(objective),
      states_(states),
      seed_(seed),
      executor_(std::move(network), std::max(options_.batch_size, kEvaluationBatch)) {}

std::uint64_t LocalSolver::step_budget(const LocalWork& wanted, std::uint32_t samples, double share) const {
  const std::uint32_t batches = batches_of(samples, options_.batch_size);
  double steps = 0;
  if (wanted.steps) {
    steps = *wanted.steps;
  } else {
    const double whole = std::floor(wanted.epochs);
    steps = whole * batches + std::ceil((wanted.epochs - whole) * batches - 1e-9);
  }
  if (share >= 1) return whole_steps(steps);
  // A straggler of several epochs does a whole number of them, U{1..E-1} (FedProx); of one epoch, some of its batches.
  if (!wanted.steps && wanted.epochs >= 2) {
    return whole_steps((1 + std::floor(share * (std::floor(wanted.epochs) - 1))) * batches);
  }
  return std::max<std::uint64_t>(1, whole_steps(share * steps));
}

Result<TrainReply> LocalSolver::train(const TrainTask& task, LocalUpdate reuse) {
  const Stopwatch watch(timed(&SolverTimes::train_s));
  executor_.set_times(times_ ? &times_->executor : nullptr);
  const Network& network = executor_.network();
  const Objective& objective = task.trial ? *plain_ : objective_;
  const std::uint32_t samples = data_.train_count(task.client);
  if (samples == 0) return TrainReply{Dropped{task.client, DropReason::kNoSamples}};
  SampleView view;
  {
    const Stopwatch making(timed(&SolverTimes::samples_s));
    view = data_.train(task.client, buffer_);
  }

  std::span<const float> received = task.model;
  if (task.own_model) {
    own_model_.resize(network.size());
    MUSTER_ASSIGN(const bool trained_before, states_.get(task.client, kModelSlot, own_model_));
    if (trained_before) received = own_model_;
  }
  loaded_version_ = 0;
  executor_.load(received);
  freeze_received(objective);
  executor_.clear_drift();
  executor_.seed_dropout(
      {.seed = seed_, .purpose = Purpose::kDropout, .round = task.round, .id = task.client.value, .part = task.part});

  ObjectiveInput input{.received = received.first(network.parameters()), .broadcast = task.broadcast, .state = {}};
  if (objective.has_state()) {
    state_.resize(network.parameters());
    MUSTER_ASSIGN(const bool present, states_.get(task.client, kObjectiveSlot, state_));
    if (present) input.state = state_;
  }
  if (objective.wants_full_gradient()) compute_full_gradient(view);
  objective.begin(input, term_);
  if (term_.has_drift) executor_.set_drift(term_.drift);

  const Optimizer optimizer = optimizer_of(options_);
  const double learning_rate = learning_rate_in(options_, task.round);
  const StepRule rule{.optimizer = optimizer,
                      .learning_rate = static_cast<float>(learning_rate),
                      .pull = term_.pull + static_cast<float>(options_.weight_decay),
                      .momentum = static_cast<float>(options_.momentum)};
  executor_.reset_optimizer();
  const bool keep = options_.keep_optimizer && !task.trial && optimizer != Optimizer::kSgd;
  if (keep) {
    optimizer_state_.resize(executor_.optimizer_state_size(optimizer));
    MUSTER_ASSIGN(const bool present, states_.get(task.client, kOptimizerSlot, optimizer_state_));
    if (present) executor_.load_optimizer(optimizer, optimizer_state_);
  }

  LocalUpdate update = std::move(reuse);
  update.client = task.client;
  update.samples = samples;
  update.steps = 0;
  update.samples_trained = 0;
  order_.resize(samples);
  std::iota(order_.begin(), order_.end(), 0u);
  const std::uint64_t budget =
      step_budget(task.trial.value_or(task.epochs ? LocalWork{.epochs = *task.epochs}
                                                  : LocalWork{.epochs = options_.epochs, .steps = options_.steps}),
                  samples, task.work);
  const std::uint32_t batches = batches_of(samples, options_.batch_size);
  const std::uint64_t work = budget / batches * samples + budget % batches * options_.batch_size;
  const bool fixed = optimizer == Optimizer::kSgd && !augmentation_.any() && executor_.fixed_rows_pay(samples, work);
  if (fixed) begin_fixed_rows(view);
  double epoch_loss = 0;
  std::uint64_t epoch_samples = 0;
  bool finite = true;
  for (std::uint32_t epoch = 0; update.steps < budget && finite; ++epoch) {
    Stream shuffle({.seed = seed_,
                    .purpose = Purpose::kBatchOrder,
                    .round = task.round,
                    .id = task.client.value,
                    .part = task.part * 65536 + epoch});
    Stream augment({.seed = seed_,
                    .purpose = Purpose::kAugment,
                    .round = task.round,
                    .id = task.client.value,
                    .part = task.part * 65536 + epoch});
    shuffle.shuffle(std::span(order_));
    epoch_loss = 0;
    epoch_samples = 0;
    for (std::uint64_t at = 0; at < samples && update.steps < budget; at += options_.batch_size) {
      const auto batch = static_cast<std::uint32_t>(std::min<std::uint64_t>(options_.batch_size, samples - at));
      const std::span<const std::uint32_t> chosen = std::span(order_).subspan(at, batch);
      if (fixed) {
        std::int32_t* labels = executor_.labels(batch);
        for (std::uint32_t i = 0; i < batch; ++i) labels[i] = fixed_labels_[chosen[i]];
      } else {
        const Stopwatch gathering(timed(&SolverTimes::gather_s));
        gather(view, chosen, augmentation_, &augment, executor_.input(batch), executor_.labels(batch));
      }
      const BatchResult result = fixed ? executor_.train_fixed_rows(chosen, rule) : executor_.train(batch, rule);
      epoch_loss += result.loss_sum;
      epoch_samples += batch;
      update.samples_trained += batch;
      ++update.steps;
      if (!std::isfinite(result.loss_sum)) {
        finite = false;
        break;
      }
    }
  }
  if (fixed) executor_.end_fixed_rows();
  update.loss = epoch_samples > 0 ? epoch_loss / static_cast<double>(epoch_samples) : 0;
  update.model.resize(network.size());
  executor_.store(update.model);
  if (!finite || !all_finite(update.model)) return TrainReply{Dropped{task.client, DropReason::kNonFinite}};

  update.loss_after.reset();
  if (task.measure) {
    const Evaluation after = evaluate_loaded(view);
    update.loss_after = after.loss_sum / static_cast<double>(after.samples);
    if (!std::isfinite(*update.loss_after)) return TrainReply{Dropped{task.client, DropReason::kNonFinite}};
  }

  // What the client remembers changes only here, once nothing can turn it into a dropped client.
  update.payload.resize(objective.has_payload() ? network.parameters() : 0);
  if (objective.has_state() && update.steps > 0) {
    next_state_.resize(network.parameters());
    objective.end(input,
                  {.trained = std::span<const float>(update.model).first(network.parameters()),
                   .steps = update.steps,
                   .learning_rate = learning_rate,
                   .full_gradient = full_gradient_},
                  next_state_, update.payload);
    MUSTER_TRY(states_.put(task.client, kObjectiveSlot, next_state_));
  }
  if (keep) {
    executor_.store_optimizer(optimizer, optimizer_state_);
    MUSTER_TRY(states_.put(task.client, kOptimizerSlot, optimizer_state_));
  }
  if (task.own_model) MUSTER_TRY(states_.put(task.client, kModelSlot, update.model));
  return TrainReply{std::move(update)};
}

void LocalSolver::freeze_received(const Objective& objective) {
  executor_.thaw();
  if (const double weight = objective.output_match(); weight > 0) executor_.freeze(output_match_.hook(weight));
}

void LocalSolver::begin_fixed_rows(const SampleView& view) {
  {
    const Stopwatch gathering(timed(&SolverTimes::gather_s));
    float* rows = executor_.prepare_fixed_rows(static_cast<std::uint32_t>(view.size()));
    fixed_labels_.resize(view.size());
    for (std::uint32_t i = 0; i < view.size(); ++i) {
      gather(view, {&i, 1}, {}, nullptr, rows + i * executor_.fixed_row_stride(), &fixed_labels_[i]);
    }
  }
  executor_.begin_fixed_rows();
}

void LocalSolver::compute_full_gradient(const SampleView& view) {
  const std::size_t parameters = executor_.network().parameters();
  gradient_sum_.assign(parameters, 0.0);
  batch_gradient_.resize(parameters);
  full_gradient_.resize(parameters);
  order_.resize(view.size());
  std::iota(order_.begin(), order_.end(), 0u);
  for (std::size_t at = 0; at < view.size(); at += options_.batch_size) {
    const auto batch = static_cast<std::uint32_t>(std::min<std::size_t>(options_.batch_size, view.size() - at));
    gather(view, std::span(order_).subspan(at, batch), {}, nullptr, executor_.input(batch), executor_.labels(batch));
    (void)executor_.gradient(batch, batch_gradient_);
    for (std::size_t i = 0; i < parameters; ++i) gradient_sum_[i] += double{batch_gradient_[i]} * batch;
  }
  for (std::size_t i = 0; i < parameters; ++i) {
    full_gradient_[i] = static_cast<float>(gradient_sum_[i] / static_cast<double>(view.size()));
  }
}

Evaluation LocalSolver::evaluate(std::span<const float> model, const SampleView& view, std::uint64_t version,
                                 const Details& details) {
  if (version == 0 || version != loaded_version_) {
    const Stopwatch watch(timed(&SolverTimes::evaluate_s));
    executor_.set_times(nullptr);
    executor_.load(model);
    loaded_version_ = version;
  }
  return evaluate_loaded(view, details);
}

Evaluation LocalSolver::evaluate_loaded(const SampleView& view, const Details& details) {
  const Stopwatch watch(timed(&SolverTimes::evaluate_s));
  executor_.set_times(nullptr);
  Evaluation total{.samples = view.size()};
  const std::size_t width = executor_.network().outputs();
  PredictionCounter counter(details, executor_.network().classes());
  order_.resize(std::min<std::size_t>(view.size(), kEvaluationBatch));
  for (std::size_t at = 0; at < view.size(); at += kEvaluationBatch) {
    const auto batch = static_cast<std::uint32_t>(std::min<std::size_t>(kEvaluationBatch, view.size() - at));
    std::iota(order_.begin(), order_.end(), static_cast<std::uint32_t>(at));
    gather(view, std::span(order_).first(batch), {}, nullptr, executor_.input(batch), executor_.labels(batch));
    const BatchResult result = executor_.evaluate(batch);
    total.correct += result.correct;
    total.loss_sum += result.loss_sum;
    if (!details.any()) continue;
    outputs_.resize(batch * width);
    executor_.logits(batch, outputs_);
    counter.add(outputs_, width, {executor_.labels(batch), batch});
  }
  if (details.any()) total.predictions = std::make_shared<const Predictions>(std::move(counter).finish());
  return total;
}

std::vector<Evaluation> LocalSolver::evaluate_training(const RowsView<float>& models, ClientId client) {
  SampleView view;
  {
    const Stopwatch making(timed(&SolverTimes::evaluate_s));
    view = data_.train(client, buffer_);
  }
  std::vector<Evaluation> evaluations;
  for (std::uint32_t m = 0; m < models.count(); ++m) evaluations.push_back(evaluate(models.row(m), view));
  return evaluations;
}

void LocalSolver::evaluate_outputs(std::span<const float> model, const SampleView& view, std::span<float> outputs,
                                   std::span<std::int32_t> labels) {
  const Stopwatch watch(timed(&SolverTimes::evaluate_s));
  executor_.set_times(nullptr);
  loaded_version_ = 0;
  executor_.load(model);
  const std::size_t width = executor_.network().outputs();
  order_.resize(std::min<std::size_t>(view.size(), kEvaluationBatch));
  for (std::size_t at = 0; at < view.size(); at += kEvaluationBatch) {
    const auto batch = static_cast<std::uint32_t>(std::min<std::size_t>(kEvaluationBatch, view.size() - at));
    std::iota(order_.begin(), order_.begin() + batch, static_cast<std::uint32_t>(at));
    gather(view, std::span(order_).first(batch), {}, nullptr, executor_.input(batch), executor_.labels(batch));
    std::copy_n(executor_.labels(batch), batch, labels.begin() + static_cast<std::ptrdiff_t>(at));
    (void)executor_.evaluate(batch);
    executor_.logits(batch, outputs.subspan(at * width, batch * width));
  }
}

Result<Evaluation> LocalSolver::evaluate_client(std::span<const float> model, ClientId client, bool own_model,
                                                std::uint64_t version, HeldOut held_out, const Details& details) {
  if (own_model) {
    own_model_.resize(executor_.network().size());
    MUSTER_ASSIGN(const bool present, states_.get(client, kModelSlot, own_model_));
    MUSTER_CHECK(present || !model.empty(), "client {} has no model of its own, and none was given", client.value);
    if (present) {
      model = own_model_;
      version = 0;
    }
  }
  SampleView view;
  {
    const Stopwatch making(timed(&SolverTimes::evaluate_s));
    view = held_out == HeldOut::kTest ? data_.test(client, buffer_) : data_.validation(client, buffer_);
  }
  return evaluate(model, view, version, details);
}

}  // namespace muster
