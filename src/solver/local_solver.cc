#include "solver/local_solver.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/finite.h"
#include "base/hash.h"
#include "base/stopwatch.h"
#include "data/prefetch.h"
#include "solver/learning_rate.h"

namespace muster {
namespace {

constexpr std::uint32_t kEvaluationBatch = 128;
// Tuning before an evaluation draws other batches than any visit of a round does, and than a profile.
constexpr std::uint32_t kTuningPart = 65534;

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
                         std::uint64_t seed, ModelParts parts)
    : data_(data),
      options_(fit_batches(std::move(options), data)),
      augmentation_(augmentation),
      objective_(objective),
      states_(states),
      seed_(seed),
      parts_(std::move(parts)),
      own_objective_(options_.own_model ? make_prox(*options_.own_model) : nullptr),
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

StepRule LocalSolver::step_rule(float pull, std::uint32_t round) const {
  return {.optimizer = optimizer_of(options_),
          .learning_rate = static_cast<float>(learning_rate_in(options_, round)),
          .pull = pull + static_cast<float>(options_.weight_decay),
          .momentum = static_cast<float>(options_.momentum)};
}

void LocalSolver::load_for(const TrainTask& task, std::span<const float> model, const Objective& objective) {
  loaded_version_ = 0;
  executor_.load(model);
  freeze_received(objective);
  executor_.clear_drift();
  executor_.reset_optimizer();
  executor_.seed_dropout(
      {.seed = seed_, .purpose = Purpose::kDropout, .round = task.round, .id = task.client.value, .part = task.part});
}

Status LocalSolver::load_optimizer(ClientId client, std::uint8_t slot) {
  const Optimizer optimizer = optimizer_of(options_);
  optimizer_state_.resize(executor_.optimizer_state_size(optimizer));
  MUSTER_ASSIGN(const bool present, states_.get(client, slot, optimizer_state_));
  if (present) executor_.load_optimizer(optimizer, optimizer_state_);
  return {};
}

Status LocalSolver::keep_optimizer(ClientId client, std::uint8_t slot) {
  const Optimizer optimizer = optimizer_of(options_);
  optimizer_state_.resize(executor_.optimizer_state_size(optimizer));
  executor_.store_optimizer(optimizer, optimizer_state_);
  return states_.put(client, slot, optimizer_state_);
}

Result<std::span<const float>> LocalSolver::with_personal_part(std::span<const float> model, ClientId client) {
  personal_.resize(count_of(parts_.personal));
  MUSTER_ASSIGN(const bool present, states_.get(client, kPersonalSlot, personal_));
  if (!present) return model;
  own_model_.assign(model.begin(), model.end());
  scatter_ranges(personal_, parts_.personal, own_model_);
  return std::span<const float>(own_model_);
}

SampleView LocalSolver::train_view(ClientId client) {
  poison_ = attackers_ && attackers_->malicious(client) ? attackers_->attack().poison() : nullptr;
  return data_.train(client, buffer_);
}

const Poison* LocalSolver::poison_of(HeldOut held_out) const {
  return attackers_ && held_out == HeldOut::kTriggered ? attackers_->attack().trigger() : nullptr;
}

void LocalSolver::gather_batch(const SampleView& view, std::span<const std::uint32_t> positions,
                               const Augmentation& augmentation, Stream* stream, float* out,
                               std::int32_t* labels) const {
  gather(view, positions, augmentation, stream, out, labels);
  if (!poison_) return;
  const std::size_t size = view.samples->shape.size();
  for (std::size_t i = 0; i < positions.size(); ++i) {
    apply_poison(*poison_, *view.samples, view.rows[positions[i]], out + i * size, labels + i);
  }
}

SampleView LocalSolver::global_samples(HeldOut held_out) const {
  return held_out == HeldOut::kValidation ? data_.global_validation() : data_.global_test();
}

Evaluation LocalSolver::evaluate_global(std::span<const float> model, HeldOut held_out, std::size_t first,
                                        std::size_t count, std::uint64_t version, const Details& details) {
  SampleView view = global_samples(held_out);
  view.rows = view.rows.subspan(first, count);
  poison_ = poison_of(held_out);
  return evaluate_view(model, view, version, details);
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
    view = train_view(task.client);
  }

  const bool personal = !parts_.personal.empty() && !task.trial;
  std::span<const float> received = task.model;
  if (task.own_model) {
    own_model_.resize(network.size());
    MUSTER_ASSIGN(const bool trained_before, states_.get(task.client, kModelSlot, own_model_));
    if (trained_before) received = own_model_;
  }
  if (personal) {
    // A broken model must be seen also where the client would not use it.
    if (!all_finite(task.model)) return TrainReply{Dropped{task.client, DropReason::kNonFinite}};
    MUSTER_ASSIGN(received, with_personal_part(task.model, task.client));
  }
  load_for(task, received, objective);

  ObjectiveInput input{.received = received.first(network.parameters()), .broadcast = task.broadcast, .state = {}};
  if (objective.has_state()) {
    state_.resize(network.parameters());
    MUSTER_ASSIGN(const bool present, states_.get(task.client, kObjectiveSlot, state_));
    if (present) input.state = state_;
  }
  if (objective.wants_full_gradient()) compute_full_gradient(view);
  objective.begin(input, term_);
  if (term_.has_drift) executor_.set_drift(term_.drift);
  const StepRule rule = step_rule(term_.pull, task.round);
  const bool keep = options_.keep_optimizer && !task.trial && rule.optimizer != Optimizer::kSgd;
  if (keep) MUSTER_TRY(load_optimizer(task.client, kOptimizerSlot));

  const std::uint64_t budget =
      step_budget(task.trial.value_or(task.epochs ? LocalWork{.epochs = *task.epochs}
                                                  : LocalWork{.epochs = options_.epochs, .steps = options_.steps}),
                  samples, task.work);
  const Walked walked = walk_parts(task, view, rule, budget);
  LocalUpdate update = std::move(reuse);
  update.client = task.client;
  update.samples = samples;
  update.steps = walked.steps;
  update.samples_trained = walked.samples;
  update.loss = walked.loss;
  update.model.resize(network.size());
  executor_.store(update.model);
  if (!walked.finite || !all_finite(update.model)) return TrainReply{Dropped{task.client, DropReason::kNonFinite}};

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
                   .learning_rate = learning_rate_in(options_, task.round),
                   .full_gradient = full_gradient_},
                  next_state_, update.payload);
    // Nobody corrects a drift from the others in a part that the others do not have.
    clear_ranges(parts_.personal, next_state_);
    clear_ranges(parts_.personal, update.payload);
    MUSTER_TRY(states_.put(task.client, kObjectiveSlot, next_state_));
  }
  if (keep) MUSTER_TRY(keep_optimizer(task.client, kOptimizerSlot));
  update.own_model = 0;
  if (task.own_model) {
    MUSTER_TRY(states_.put(task.client, kModelSlot, update.model));
    update.own_model = hash_bytes(update.model.data(), update.model.size() * sizeof(float));
    update.model.clear();
  }
  if (personal) {
    MUSTER_TRY(states_.put(task.client, kPersonalSlot, gather_ranges(update.model, parts_.personal)));
    copy_ranges(task.model, parts_.personal, update.model);
  }
  if (own_objective_ && !task.trial) {
    MUSTER_ASSIGN(const std::uint64_t trained, train_own_model(task, view, budget));
    update.samples_trained += trained;
  }
  return TrainReply{std::move(update)};
}

LocalSolver::Walked LocalSolver::walk_parts(const TrainTask& task, const SampleView& view, const StepRule& rule,
                                            std::uint64_t budget) {
  const bool freezes = !task.trial && task.round >= options_.freeze_from;
  const ParameterRanges frozen = freezes ? parts_.frozen : ParameterRanges{};
  if (!options_.personal_epochs || task.trial) return walk(task, view, rule, {.budget = budget, .frozen = frozen});
  const auto samples = static_cast<std::uint32_t>(view.size());
  const Walked personal = walk(task, view, rule,
                               {.budget = step_budget({.epochs = *options_.personal_epochs}, samples, task.work),
                                .frozen = joined(parts_.shared, frozen)});
  if (!personal.finite) return personal;
  // The second training is one of its own: no momentum of the first, no step that Adam has counted.
  executor_.reset_optimizer();
  Walked both = walk(task, view, rule,
                     {.budget = budget, .first_epoch = personal.epochs, .frozen = joined(parts_.personal, frozen)});
  both.samples += personal.samples;  // but steps are those that moved what is sent
  return both;
}

LocalSolver::Walked LocalSolver::walk(const TrainTask& task, const SampleView& view, const StepRule& rule,
                                      const Walk& planned) {
  const auto samples = static_cast<std::uint32_t>(view.size());
  order_.resize(samples);
  std::iota(order_.begin(), order_.end(), 0u);
  const std::uint32_t batches = batches_of(samples, options_.batch_size);
  const std::uint64_t work = planned.budget / batches * samples + planned.budget % batches * options_.batch_size;
  const bool fixed = rule.optimizer == Optimizer::kSgd && !augmentation_.any() && planned.frozen.empty() &&
                     executor_.fixed_rows_pay(samples, work);
  if (!planned.frozen.empty()) executor_.hold(planned.frozen);
  if (fixed) begin_fixed_rows(view);
  Walked walked;
  double epoch_loss = 0;
  std::uint64_t epoch_samples = 0;
  for (; walked.steps < planned.budget && walked.finite; ++walked.epochs) {
    const std::uint32_t epoch = planned.first_epoch + walked.epochs;
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
    for (std::uint64_t at = 0; at < samples && walked.steps < planned.budget; at += options_.batch_size) {
      const auto batch = static_cast<std::uint32_t>(std::min<std::uint64_t>(options_.batch_size, samples - at));
      const std::span<const std::uint32_t> chosen = std::span(order_).subspan(at, batch);
      if (fixed) {
        std::int32_t* labels = executor_.labels(batch);
        for (std::uint32_t i = 0; i < batch; ++i) labels[i] = fixed_labels_[chosen[i]];
      } else {
        const Stopwatch gathering(timed(&SolverTimes::gather_s));
        gather_batch(view, chosen, augmentation_, &augment, executor_.input(batch), executor_.labels(batch));
        prefetch(view, std::span(order_).subspan(at + batch));
      }
      const BatchResult result = fixed ? executor_.train_fixed_rows(chosen, rule) : executor_.train(batch, rule);
      epoch_loss += result.loss_sum;
      epoch_samples += batch;
      walked.samples += batch;
      ++walked.steps;
      if (!std::isfinite(result.loss_sum)) {
        walked.finite = false;
        break;
      }
    }
  }
  if (fixed) executor_.end_fixed_rows();
  walked.loss = epoch_samples > 0 ? epoch_loss / static_cast<double>(epoch_samples) : 0;
  return walked;
}

// The same batches as the model that is sent: with no pull it is what a client would train without a server.
Result<std::uint64_t> LocalSolver::train_own_model(const TrainTask& task, const SampleView& view,
                                                   std::uint64_t budget) {
  own_model_.resize(executor_.network().size());
  MUSTER_ASSIGN(const bool present, states_.get(task.client, kModelSlot, own_model_));
  load_for(task, present ? std::span<const float>(own_model_) : task.model, *own_objective_);
  const std::span<const float> anchor = task.model.first(executor_.network().parameters());
  own_objective_->begin({.received = anchor, .broadcast = {}, .state = {}}, term_);
  if (term_.has_drift) executor_.set_drift(term_.drift);
  const StepRule rule = step_rule(term_.pull, task.round);
  const bool keep = options_.keep_optimizer && rule.optimizer != Optimizer::kSgd;
  if (keep) MUSTER_TRY(load_optimizer(task.client, kOwnOptimizerSlot));
  const Walked walked = walk_parts(task, view, rule, budget);
  executor_.store(own_model_);
  // What is sent does not depend on it: a model that has come to nothing stays as it was before this round.
  if (!walked.finite || !all_finite(own_model_)) return walked.samples;
  if (keep) MUSTER_TRY(keep_optimizer(task.client, kOwnOptimizerSlot));
  MUSTER_TRY(states_.put(task.client, kModelSlot, own_model_));
  return walked.samples;
}

void LocalSolver::freeze_received(const Objective& objective) {
  executor_.thaw();
  if (const double weight = objective.output_match(); weight > 0) {
    executor_.freeze(output_match_.hook(weight));
  } else if (executor_.network().fuses()) {
    executor_.freeze();
  }
}

void LocalSolver::begin_fixed_rows(const SampleView& view) {
  {
    const Stopwatch gathering(timed(&SolverTimes::gather_s));
    float* rows = executor_.prepare_fixed_rows(static_cast<std::uint32_t>(view.size()));
    fixed_labels_.resize(view.size());
    for (std::uint32_t i = 0; i < view.size(); ++i) {
      gather_batch(view, {&i, 1}, {}, nullptr, rows + i * executor_.fixed_row_stride(), &fixed_labels_[i]);
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
    gather_batch(view, std::span(order_).subspan(at, batch), {}, nullptr, executor_.input(batch),
                 executor_.labels(batch));
    (void)executor_.gradient(batch, batch_gradient_);
    for (std::size_t i = 0; i < parameters; ++i) gradient_sum_[i] += double{batch_gradient_[i]} * batch;
  }
  for (std::size_t i = 0; i < parameters; ++i) {
    full_gradient_[i] = static_cast<float>(gradient_sum_[i] / static_cast<double>(view.size()));
  }
}

Evaluation LocalSolver::evaluate(std::span<const float> model, const SampleView& view, std::uint64_t version,
                                 const Details& details) {
  poison_ = nullptr;
  return evaluate_view(model, view, version, details);
}

Evaluation LocalSolver::evaluate_view(std::span<const float> model, const SampleView& view, std::uint64_t version,
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
    gather_batch(view, std::span(order_).first(batch), {}, nullptr, executor_.input(batch), executor_.labels(batch));
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

Result<std::vector<Evaluation>> LocalSolver::evaluate_training(const RowsView<float>& models, ClientId client) {
  SampleView view;
  {
    const Stopwatch making(timed(&SolverTimes::evaluate_s));
    view = train_view(client);
  }
  std::vector<Evaluation> evaluations;
  for (std::uint32_t m = 0; m < models.count(); ++m) {
    std::span<const float> model = models.row(m);
    if (!parts_.personal.empty()) {
      MUSTER_ASSIGN(model, with_personal_part(model, client));
    }
    evaluations.push_back(evaluate_view(model, view, 0, {}));
  }
  return evaluations;
}

void LocalSolver::evaluate_outputs(std::span<const float> model, const SampleView& view, std::span<float> outputs,
                                   std::span<std::int32_t> labels) {
  const Stopwatch watch(timed(&SolverTimes::evaluate_s));
  executor_.set_times(nullptr);
  loaded_version_ = 0;
  poison_ = nullptr;
  executor_.load(model);
  const std::size_t width = executor_.network().outputs();
  order_.resize(std::min<std::size_t>(view.size(), kEvaluationBatch));
  for (std::size_t at = 0; at < view.size(); at += kEvaluationBatch) {
    const auto batch = static_cast<std::uint32_t>(std::min<std::size_t>(kEvaluationBatch, view.size() - at));
    std::iota(order_.begin(), order_.begin() + batch, static_cast<std::uint32_t>(at));
    gather_batch(view, std::span(order_).first(batch), {}, nullptr, executor_.input(batch), executor_.labels(batch));
    std::copy_n(executor_.labels(batch), batch, labels.begin() + static_cast<std::ptrdiff_t>(at));
    (void)executor_.evaluate(batch);
    executor_.logits(batch, outputs.subspan(at * width, batch * width));
  }
}

Result<Evaluation> LocalSolver::evaluate_client(const EvaluateTask& task) {
  std::span<const float> model = task.model;
  if (task.own_model || own_objective_) {
    own_model_.resize(executor_.network().size());
    MUSTER_ASSIGN(const bool present, states_.get(task.client, kModelSlot, own_model_));
    if (present) model = own_model_;
  }
  MUSTER_CHECK(!model.empty(), "client {} has no model of its own, and none was given", task.client.value);
  if (!parts_.personal.empty()) {
    MUSTER_ASSIGN(model, with_personal_part(model, task.client));
  }
  if (options_.fine_tune) tune(task, model);
  SampleView view;
  {
    const Stopwatch making(timed(&SolverTimes::evaluate_s));
    view = task.held_out == HeldOut::kValidation ? data_.validation(task.client, buffer_)
                                                 : data_.test(task.client, buffer_);
    poison_ = poison_of(task.held_out);
  }
  if (options_.fine_tune) return evaluate_loaded(view, task.details);
  const std::uint64_t version = model.data() == task.model.data() ? task.version : 0;
  return evaluate_view(model, view, version, task.details);
}

void LocalSolver::tune(const EvaluateTask& task, std::span<const float> model) {
  const Stopwatch watch(timed(&SolverTimes::evaluate_s));
  executor_.set_times(nullptr);
  const TrainTask tuning{.client = task.client, .round = task.round, .part = kTuningPart};
  load_for(tuning, model, *plain_);
  const SampleView view = train_view(task.client);
  if (view.size() == 0) return;
  const auto samples = static_cast<std::uint32_t>(view.size());
  (void)walk(tuning, view, step_rule(0, task.round),
             {.budget = step_budget({.epochs = *options_.fine_tune}, samples, 1)});
}

}  // namespace muster
