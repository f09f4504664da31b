#include "engine/simulation.h"

#include <sys/resource.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <limits>
#include <thread>
#include <utility>

#include "base/hash.h"
#include "base/stopwatch.h"
#include "engine/adaptive_epochs.h"
#include "engine/discrepancy.h"
#include "engine/evaluator.h"
#include "engine/groups.h"
#include "engine/models.h"
#include "engine/run_state.h"
#include "record/checkpoint.h"
#include "record/progress.h"
#include "record/run_folder.h"
#include "record/tensorboard.h"
#include "record/weights_file.h"
#include "train/group_host.h"

namespace muster {
namespace {

// Rounds in a row in which every participant's update was not finite, after which the run counts as diverged.
constexpr std::uint32_t kBrokenRounds = 3;

double now_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::uint64_t peak_rss_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
}

std::uint64_t bits(double value) {
  return std::bit_cast<std::uint64_t>(value);
}

class Simulation {
 public:
  Simulation(Recipe recipe, const SimulationOptions& options, RunFolder folder)
      : recipe_(std::move(recipe)), options_(options), folder_(std::move(folder)) {}

  // Everything before the first round, and its groups. Nothing random here depends on the thread count.
  Status prepare(bool resuming);
  Result<RunSummary> run();

 private:
  [[nodiscard]] double* timed(double RunTimes::*seconds) const {
    return options_.times ? &(options_.times->*seconds) : nullptr;
  }
  Status set_up();
  Result<std::unique_ptr<Models>> make_models(std::vector<float> initial) const;
  Status form_groups(std::uint32_t round, std::string_view why, RoundRecord& record);
  std::vector<float> profile_start() const;
  Status account(const GroupsFormed& formed, RoundRecord& record);
  Result<RoundPlan> make_plan(RoundRecord& record);
  Status train_round(const RoundPlan& plan, RoundRecord& record);
  void price(const RoundWork& work, RoundRecord& record);
  void observe(const GroupUpdate& member);
  Status follow_event(RoundRecord& record);
  EvaluatedModels evaluated_models(std::uint32_t round);
  void enter(const EvaluationResult& result, RoundRecord& record);
  bool may_wait(const RoundRecord& record) const;
  Status complete(const RoundRecord& record);
  Status complete_waiting();
  void sign(const RoundRecord& record);
  std::optional<StopReason> stop_after(const RoundRecord& record) const;
  Status save_checkpoint();
  Status load_checkpoint();
  Status restore(const Checkpoint& checkpoint);
  Status write_results(const RunSummary& summary);
  Status write_round(const RoundRecord& record);
  RunSummary summarise(StopReason reason) const;

  Recipe recipe_;
  SimulationOptions options_;
  RunFolder folder_;

  std::unique_ptr<FederatedData> data_;
  std::shared_ptr<const Network> network_;
  std::unique_ptr<Objective> objective_;
  std::unique_ptr<ClientStates> states_;
  std::unique_ptr<WorkerPool> pool_;
  std::vector<std::unique_ptr<LocalSolver>> solvers_;
  std::vector<std::unique_ptr<ClientLink>> links_;
  std::unique_ptr<GroupHost> host_;
  std::unique_ptr<GroupTrainer> trainer_;
  std::unique_ptr<Groups> groups_;
  std::unique_ptr<Models> models_;
  std::unique_ptr<AdaptiveEpochs> adaptive_;  // null unless losses decide something
  std::unique_ptr<Evaluator> evaluator_;
  std::optional<EventWriter> events_;

  RunState state_;
  // What the members of this round sent, where groups may be formed from it.
  bool observing_ = false;
  ObservedRound observed_;
  Rows<float> observed_models_;
  Discrepancy discrepancy_;  // of this round, where it is asked for
  std::unique_ptr<ProfileKind> profile_;
  RoundRecord formed_early_;  // what forming groups before the first round took; becomes part of that round
  // The round before the one in training, where its evaluation goes on beside that: see may_wait().
  std::optional<RoundRecord> waiting_;
  bool diverged_ = false;
  std::optional<Progress> progress_;

  double started_s_ = 0;
};

Status Simulation::prepare(bool resuming) {
  started_s_ = now_s();
  {
    const Stopwatch watch(timed(&RunTimes::prepare_s));
    MUSTER_TRY(set_up());
    if (resuming) MUSTER_TRY(load_checkpoint());
    MUSTER_ASSIGN(events_, EventWriter::open(folder_.path(), state_.round + 1));
  }
  if (const std::string_view why = groups_->due(state_.round + 1); !why.empty()) {
    const Stopwatch watch(timed(&RunTimes::run_s));
    MUSTER_TRY(form_groups(state_.round + 1, why, formed_early_));
  }
  if (options_.say)
    options_.say(fmt::format("{}; {}, {} parameters", data_->summary(), recipe_.model.name, network_->parameters()));
  return {};
}

Status Simulation::set_up() {
  MUSTER_ASSIGN(data_, make_federated_data(recipe_.data, recipe_.data_seed.value_or(recipe_.seed)));
  MUSTER_ASSIGN(network_, make_network(recipe_.model, data_->shape(), data_->classes()));
  MUSTER_ASSIGN(profile_, make_profile_kind(recipe_.profile));
  MUSTER_TRY(profile_->width(*network_, 1));
  MUSTER_ASSIGN(objective_, make_objective(recipe_.local.objective));
  states_ = std::make_unique<ClientStates>(ClientStateOptions{
      .folder = folder_.path() / "states", .memory_limit_bytes = std::uint64_t{recipe_.local.state_limit_mb} << 20});
  MUSTER_ASSIGN(trainer_, make_group_trainer(recipe_.training, recipe_.aggregation.in_group, recipe_.seed));

  const std::uint32_t threads =
      options_.threads > 0 ? options_.threads : std::max(1u, std::thread::hardware_concurrency());
  pool_ = std::make_unique<WorkerPool>(threads);
  const std::string& stragglers = recipe_.faults.stragglers;
  const bool partial = stragglers.empty() ? recipe_.local.objective.name == "prox" : stragglers == "partial";
  for (std::uint32_t worker = 0; worker < threads; ++worker) {
    solvers_.push_back(std::make_unique<LocalSolver>(network_, *data_, recipe_.local, augmentation_of(recipe_.data),
                                                     *objective_, *states_, recipe_.seed));
    links_.push_back(make_in_process_link(*solvers_.back(), *profile_, recipe_.faults, partial, recipe_.seed));
  }
  if (RunTimes* times = options_.times) {
    times->threads = threads;
    times->solvers.resize(threads);
    for (std::uint32_t worker = 0; worker < threads; ++worker) {
      solvers_[worker]->set_times(&times->solvers[worker]);
    }
  }
  host_ = make_thread_host(*pool_, links_);
  groups_ = std::make_unique<Groups>(recipe_, *profile_, *data_, *network_, *pool_, links_);
  std::vector<float> initial(network_->size());
  Stream stream({.seed = recipe_.seed, .purpose = Purpose::kInitialise});
  network_->initialise(initial, stream);
  MUSTER_ASSIGN(models_, make_models(std::move(initial)));
  MUSTER_ASSIGN(evaluator_, make_evaluator(recipe_.evaluation, *data_, *pool_, solvers_, links_, models_->per_group(),
                                           recipe_.seed));
  if (recipe_.local.adapt_epochs || recipe_.plan.regroup.on == "loss-variance") {
    std::vector<std::uint32_t> samples(data_->clients());
    for (std::uint32_t k = 0; k < samples.size(); ++k) samples[k] = data_->train_count({k});
    adaptive_ = std::make_unique<AdaptiveEpochs>(recipe_.local, std::move(samples));
  }
  state_.tallies.resize(data_->clients());
  state_.totals.best_round = 0;
  return {};
}

Result<std::unique_ptr<Models>> Simulation::make_models(std::vector<float> initial) const {
  const std::string& global = recipe_.aggregation.global;
  if (global == "none" && recipe_.grouping.method == "singletons") return make_client_models(std::move(initial));
  if (global == "none") return make_group_models(recipe_.aggregation.mixing, std::move(initial));
  if (global == "slots") return make_slot_models(recipe_.aggregation.window.value_or(0), std::move(initial));
  MUSTER_ASSIGN(std::unique_ptr<Aggregator> aggregator,
                make_aggregator(recipe_.aggregation, {.parameters = network_->parameters(),
                                                      .size = network_->size(),
                                                      .clients = data_->clients(),
                                                      .alpha = recipe_.local.objective.alpha}));
  return make_shared_model(std::move(aggregator), std::move(initial));
}

// Where clients start that train for their profile. An update's direction only means something from a common start that
// is remembered, a loss only of models in use; for weights and confidences a network of their own is drawn (FedSeq).
std::vector<float> Simulation::profile_start() const {
  std::vector<float> start(network_->size());
  Stream stream({.seed = recipe_.seed, .purpose = Purpose::kInitialise, .part = profile_->start_part()});
  network_->initialise(start, stream);
  return start;
}

Status Simulation::form_groups(std::uint32_t round, std::string_view why, RoundRecord& record) {
  const Stopwatch watch(timed(&RunTimes::group_s));
  std::vector<std::uint32_t> selected;
  for (const ClientTally& tally : state_.tallies) selected.push_back(tally.trained);
  const std::vector<float> start = profile_start();
  MUSTER_ASSIGN(const GroupsFormed formed, groups_->form(round, why, {start, start.size()}, selected));
  // Groups by direction begin a step along theirs: at the mean of their members' first models (FedGroup).
  Rows<float> starts;
  if (profile_->directs_start() && models_->per_group()) {
    const RowsView<float> directions = groups_->directions();
    starts = Rows<float>(directions.count(), start.size());
    for (std::uint32_t g = 0; g < directions.count(); ++g) {
      std::ranges::copy(start, starts.row(g).begin());
      for (std::size_t i = 0; i < directions.width; ++i) starts.row(g)[i] += directions.row(g)[i];
    }
  }
  models_->regrouped(groups_->grouping(), starts);
  return account(formed, record);
}

Status Simulation::account(const GroupsFormed& formed, RoundRecord& record) {
  record.bytes_up += formed.bytes_up;
  record.bytes_down += formed.bytes_down;
  record.profile_flops += formed.slowest_flops;
  for (const Dropped& dropped : formed.dropped) record.dropped.push_back(dropped);
  state_.totals.group_s += formed.seconds;
  if (options_.times) options_.times->group_s -= formed.profile_s;  // the stopwatch around it counts all
  state_.totals.samples_trained += formed.samples_trained;
  if (options_.say) {
    for (const std::string& note : formed.notes) options_.say(note);
  }
  return formed.line.empty() ? Status() : folder_.append_grouping(formed.line);
}

Result<RunSummary> Simulation::run() {
  progress_.emplace(options_.quiet, recipe_.rounds, state_.round + 1);
  StopReason reason = StopReason::kRounds;
  if (options_.on_round) options_.on_round(0);
  const Stopwatch watch(timed(&RunTimes::run_s));
  while (state_.round < recipe_.rounds) {
    const double begun_s = now_s();
    RoundRecord record = std::exchange(formed_early_, {});
    record.round = state_.round + 1;
    if (const std::string_view why = groups_->due(record.round); !why.empty()) {
      MUSTER_TRY(form_groups(record.round, why, record));
    }
    MUSTER_ASSIGN(const RoundPlan plan, make_plan(record));
    MUSTER_TRY(train_round(plan, record));
    if (groups_->waits()) MUSTER_TRY(follow_event(record));
    state_.round = record.round;
    if (record.round % recipe_.evaluation.every == 0 || record.round == recipe_.rounds) {
      if (may_wait(record)) {
        record.wall_s = now_s() - begun_s;
        evaluator_->begin(evaluated_models(record.round));
        waiting_ = std::move(record);
        continue;
      }
      const double evaluated_s = now_s();
      MUSTER_ASSIGN(const EvaluationResult result, evaluator_->evaluate(evaluated_models(record.round)));
      state_.totals.eval_s += now_s() - evaluated_s;
      enter(result, record);
    }
    record.wall_s = now_s() - begun_s;
    MUSTER_TRY(complete(record));
    if (const auto stop = stop_after(record)) {
      reason = *stop;
      break;
    }
    if (state_.round % recipe_.checkpoint_every == 0 && state_.round < recipe_.rounds) MUSTER_TRY(save_checkpoint());
  }
  progress_->finish();
  MUSTER_TRY(save_checkpoint());
  const RunSummary summary = summarise(reason);
  MUSTER_TRY(write_results(summary));
  return summary;
}

// May this round's evaluation go on beside the training of the next one? Not where the next one depends on it, where
// it reads models that the next one changes on the way, or where something is to be saved first.
bool Simulation::may_wait(const RoundRecord& record) const {
  return !recipe_.target_accuracy && !models_->per_group() && record.round % recipe_.checkpoint_every != 0 &&
         record.round < recipe_.rounds && !stop_after(record);
}

Status Simulation::complete(const RoundRecord& record) {
  sign(record);
  MUSTER_TRY(write_round(record));
  progress_->round(record.round, record.accuracy
                                     ? fmt::format("accuracy {:.4f} loss {:.4f}", *record.accuracy, *record.loss)
                                     : fmt::format("train loss {:.4f}", record.train_loss.value_or(NAN)));
  if (options_.on_round) options_.on_round(record.round);
  return {};
}

Status Simulation::complete_waiting() {
  if (!waiting_) return {};
  enter(evaluator_->end(), *waiting_);
  const double spent_s = evaluator_->seconds() / pool_->threads();
  state_.totals.eval_s += spent_s;
  state_.totals.train_s -= spent_s;  // it is in the time of the training that it went on beside
  const Status status = complete(*waiting_);
  waiting_.reset();
  return status;
}

Result<RoundPlan> Simulation::make_plan(RoundRecord& record) {
  if (!groups_->places_newcomers()) {
    const Stopwatch watch(timed(&RunTimes::plan_s));
    return plan_round(recipe_.plan, groups_->grouping(), recipe_.seed, record.round, groups_->cov());
  }
  // Clients are drawn from all that are there; those in no group are placed first.
  const Grouping present = groups_->present(record.round);
  const RoundPlan drawn = plan_round(recipe_.plan, present, recipe_.seed, record.round);
  const std::span<const ClientId> clients = drawn.members(0, present);
  {
    const Stopwatch watch(timed(&RunTimes::group_s));
    std::vector<float> start;
    if (recipe_.newcomers.assign == "argmin-loss") {
      for (std::uint32_t g = 0; g < models_->count(); ++g) {
        const std::span<const float> model = models_->of(GroupId{g});
        start.insert(start.end(), model.begin(), model.end());
      }
    } else {
      start = profile_start();
    }
    MUSTER_ASSIGN(const GroupsFormed formed, groups_->place(record.round, clients, {start, network_->size()}));
    MUSTER_TRY(account(formed, record));
  }
  return plan_for_clients(clients, groups_->grouping(), record.round);
}

Status Simulation::train_round(const RoundPlan& plan, RoundRecord& record) {
  const double begun_s = now_s();
  {
    const Stopwatch watch(timed(&RunTimes::aggregate_s));
    models_->begin();
  }
  const std::span<const float> broadcast = models_->broadcast();
  const RegroupOptions& regroup = recipe_.plan.regroup;
  observing_ = groups_->waits() && plan.round >= earliest_event(regroup);
  observed_ = {};
  observed_models_ = {};
  std::vector<std::vector<double>> epochs;  // of each task's members
  epochs.reserve(plan.groups.size());
  std::vector<GroupTask> tasks;
  for (std::size_t i = 0; i < plan.groups.size(); ++i) {
    tasks.push_back({.group = plan.groups[i],
                     .round = plan.round,
                     .members = plan.members(i, groups_->grouping()),
                     .model = models_->start(plan.groups[i], i),
                     .broadcast = broadcast,
                     .own_models = models_->in_clients(),
                     .measure = adaptive_ != nullptr});
    if (recipe_.local.adapt_epochs) {
      epochs.emplace_back();
      for (const ClientId client : tasks.back().members) epochs.back().push_back(adaptive_->epochs(client));
      tasks.back().epochs = epochs.back();
    }
  }
  const std::size_t payload = objective_->has_payload() ? network_->parameters() : 0;
  RoundWork work{
      .in_sequence = recipe_.training.mode == "sequential",
      .keeps_models = models_->in_clients(),
      .edges = data_->edges() > 1,
      .clients = data_->clients() - static_cast<std::uint32_t>(groups_->grouping().idle().size()),
      .groups = groups_->grouping().count(),
      .visits = recipe_.training.mode == "sequential" ? recipe_.training.passes : recipe_.training.group_rounds,
      .drawn = {},
      .download_bytes = (network_->size() + broadcast.size()) * sizeof(float),
      .upload_bytes = (network_->size() + payload) * sizeof(float),
      .profile_flops = record.profile_flops,
      .profile_bytes_down = record.bytes_down,
      .profile_bytes_up = record.bytes_up};

  std::vector<double> importance(tasks.size(), 1.0);
  if (corrects_draw(recipe_.aggregation.global)) {
    importance = draw_corrections(recipe_.aggregation.global, plan.log_probabilities, groups_->samples());
  }
  // Whoever trains apart from the others of its group has sent a model, else the group has.
  const bool measures = recipe_.evaluation.discrepancy && !models_->in_clients();
  const auto keep = [&](const GroupUpdate& update) {
    if (!update.members.empty()) discrepancy_.add(update.group, update.model);
  };
  discrepancy_.reset();
  double loss_sum = 0;
  double weight = 0;
  std::size_t index = 0;
  const auto accept = [&](GroupUpdate& update) {
    const Stopwatch watch(timed(&RunTimes::aggregate_s));
    update.importance = importance[index];
    if (measures && !trainer_->divisible()) keep(update);
    work.drawn.push_back({static_cast<std::uint32_t>(tasks[index].members.size()), update.members});
    models_->add(update, index++);
    if (models_->in_clients() && !update.members.empty()) {
      const std::uint64_t link[2] = {state_.chain,
                                     hash_bytes(update.model.data(), update.model.size() * sizeof(float))};
      state_.chain = hash_bytes(link, sizeof link);
    }
    for (const MemberReport& member : update.members) {
      ++record.participants;
      ++state_.tallies[member.client.value].trained;
      state_.totals.samples_trained += member.samples_trained;
      loss_sum += member.loss * member.samples;
      weight += member.samples;
      if (adaptive_ && member.loss_after) adaptive_->add_loss(member.client, *member.loss_after);
    }
    for (const Dropped& dropped : update.dropped) {
      ++state_.tallies[dropped.client.value].dropped;
      record.dropped.push_back(dropped);
    }
  };
  std::function<void(const GroupUpdate&)> member;
  if (observing_ || (measures && trainer_->divisible())) {
    member = [&](const GroupUpdate& update) {
      if (observing_) observe(update);
      if (measures) keep(update);
    };
  }
  Meanwhile evaluation;
  if (waiting_) {
    evaluation = {.pieces = evaluator_->pieces(),
                  .work = [&](std::uint32_t worker, std::uint32_t piece) { return evaluator_->work(worker, piece); }};
  }
  MUSTER_TRY(host_->run(tasks, *trainer_, accept, member, evaluation));
  MUSTER_TRY(complete_waiting());
  if (adaptive_) adaptive_->end_round();
  {
    const Stopwatch watch(timed(&RunTimes::aggregate_s));
    models_->finish(plan.round);
  }
  if (measures) {
    record.discrepancy = discrepancy_.mean([&](GroupId group) { return models_->of(group); }, network_->parameters());
  }
  if (weight > 0) record.train_loss = loss_sum / weight;
  const bool all_broken = !record.dropped.empty() && record.participants == 0 &&
                          std::all_of(record.dropped.begin(), record.dropped.end(),
                                      [](const Dropped& d) { return d.reason == DropReason::kNonFinite; });
  state_.broken_rounds = all_broken ? state_.broken_rounds + 1 : 0;
  record.groups = static_cast<std::uint32_t>(plan.groups.size());
  record.idle = static_cast<std::uint32_t>(groups_->grouping().idle().size());
  record.models = models_->count();
  price(work, record);
  state_.totals.train_s += now_s() - begun_s;
  return {};
}

void Simulation::price(const RoundWork& work, RoundRecord& record) {
  const RoundBytes bytes = count_bytes(work);
  record.bytes_up = bytes.up;
  record.bytes_down = bytes.down;
  record.links = bytes.links;
  // 6 operations per multiply-add of the forward pass: forward 2, backward 4.
  const NetworkSize size{.sample_flops = 6.0 * static_cast<double>(network_->forward_macs()),
                         .values = network_->size()};
  const RoundCost cost = round_cost(recipe_.cost, recipe_.local.objective.name, size, work);
  record.compute_s = cost.compute_s;
  record.comm_s = cost.comm_s;
  state_.totals.compute_s += cost.compute_s;
  state_.totals.comm_s += cost.comm_s;
  record.cost_total_s = state_.totals.compute_s + state_.totals.comm_s;
  state_.totals.bytes_up += bytes.up;
  state_.totals.bytes_down += bytes.down;
  state_.totals.links.client_server += bytes.links.client_server;
  state_.totals.links.relay += bytes.links.relay;
  state_.totals.links.edge_cloud += bytes.links.edge_cloud;
}

void Simulation::observe(const GroupUpdate& member) {
  if (member.members.empty()) return;
  const std::span<const float> start = models_->of(member.group);
  const std::vector<float> row = profile_->observe(*network_, start, member.model);
  observed_.clients.push_back(member.members.front().client);
  observed_.vectors.width = row.size();
  observed_.vectors.values.insert(observed_.vectors.values.end(), row.begin(), row.end());
  if (recipe_.aggregation.start == "members") {
    observed_models_.width = member.model.size();
    observed_models_.values.insert(observed_models_.values.end(), member.model.begin(), member.model.end());
  }
}

// Has what the groups wait for happened in the round that has just been trained?
Status Simulation::follow_event(RoundRecord& record) {
  const Stopwatch watch(timed(&RunTimes::group_s));
  const RegroupOptions& regroup = recipe_.plan.regroup;
  if (!observing_ || observed_.clients.empty()) return {};
  if (regroup.on == "bipartition") {
    std::vector<GroupId> parents;
    MUSTER_ASSIGN(const GroupsFormed formed, groups_->split(record.round, observed_, parents));
    if (parents.empty()) return {};
    Rows<float> starts(static_cast<std::uint32_t>(parents.size()), network_->size());
    for (std::uint32_t g = 0; g < parents.size(); ++g) {
      std::ranges::copy(models_->of(parents[g]), starts.row(g).begin());
    }
    models_->regrouped(groups_->grouping(), starts);
    return account(formed, record);
  }
  // "round" may come later than its round: if too few took part there was nothing to form groups from.
  const bool now = regroup.on == "round" ? record.round >= *regroup.round
                                         : variance_says_group(adaptive_->variances(), earliest_event(regroup));
  if (!now) return {};
  MUSTER_ASSIGN(const GroupsFormed formed, groups_->form_observed(record.round, regroup.on, observed_));
  if (groups_->waits()) return account(formed, record);
  Rows<float> starts;
  if (recipe_.aggregation.start == "members") {
    starts = Rows<float>(groups_->grouping().count(), network_->size());
    WeightedMean mean;
    for (std::uint32_t g = 0; g < starts.count(); ++g) {
      mean.reset(network_->size());
      for (const ClientId client : groups_->grouping().members({g})) {
        const auto row = std::ranges::find(observed_.clients, client) - observed_.clients.begin();
        mean.add(observed_models_.row(static_cast<std::uint32_t>(row)), data_->train_count(client));
      }
      mean.store(starts.row(g));
    }
  }
  models_->regrouped(groups_->grouping(), starts);
  if (adaptive_) adaptive_->freeze();
  return account(formed, record);
}

EvaluatedModels Simulation::evaluated_models(std::uint32_t round) {
  EvaluatedModels models{
      .shared = models_->shared(), .of_group = {}, .group_of = {}, .in_clients = models_->in_clients()};
  if (models_->per_group() && !models_->in_clients()) {
    models.group_of = groups_of_clients(groups_->grouping(), data_->clients());
    for (std::uint32_t g = 0; g < models_->count(); ++g) models.of_group.push_back(models_->of(GroupId{g}));
    const Grouping present = groups_->present(round);
    const bool complete = std::ranges::none_of(
        present.members({0}), [&](ClientId client) { return models.group_of[client.value] == kNoGroup; });
    // An accuracy over the clients that have a group so far does not compare with one over all (FlexCFL).
    if (complete && !state_.all_placed) state_.totals.accuracy_best.reset();
    state_.all_placed = complete;
  }
  return models;
}

void Simulation::enter(const EvaluationResult& result, RoundRecord& record) {
  if (result.global) {
    record.accuracy = result.global->accuracy();
    record.loss = result.global->loss();
    if (result.clients) record.client_accuracy = result.clients->accuracy();
  } else if (result.clients) {
    record.accuracy = result.clients->accuracy();
    record.loss = result.clients->loss();
  }
  for (const Score& group : result.groups) record.group_accuracy.push_back(group.samples > 0 ? group.accuracy() : NAN);
  state_.totals.accuracy_last = record.accuracy;
  state_.totals.loss_last = record.loss;
  if (record.accuracy && (!state_.totals.accuracy_best || *record.accuracy > *state_.totals.accuracy_best)) {
    state_.totals.accuracy_best = record.accuracy;
    state_.totals.best_round = record.round;
  }
  if (record.accuracy && recipe_.target_accuracy && !state_.totals.target_round &&
      *record.accuracy >= *recipe_.target_accuracy) {
    state_.totals.target_round = record.round;
  }
  diverged_ = diverged_ || (record.loss && !std::isfinite(*record.loss));
}

// The signature chains what a round decided: no times, nothing that depends on the machine's load.
void Simulation::sign(const RoundRecord& record) {
  Hasher hasher;
  hasher.add(state_.chain);
  hasher.add(record.round);
  for (const auto& value : {record.accuracy, record.loss, record.client_accuracy, record.train_loss}) {
    hasher.add(value ? bits(*value) : ~std::uint64_t{0});
  }
  hasher.add(record.participants);
  for (const Dropped& dropped : record.dropped) {
    hasher.add(std::uint64_t{dropped.client.value} << 8 | static_cast<std::uint64_t>(dropped.reason));
  }
  hasher.add(record.bytes_up);
  hasher.add(record.bytes_down);
  state_.chain = hasher.digest();
}

Status Simulation::write_round(const RoundRecord& record) {
  const Stopwatch watch(timed(&RunTimes::records_s));
  // Events are a convenience: losing some to a full disk must not lose the run, which the record's own line would.
  const auto scalar = [&](const char* tag, const std::optional<double>& value) {
    if (value) (void)events_->scalar(record.round, tag, *value);
  };
  scalar("accuracy", record.accuracy);
  scalar("loss", record.loss);
  scalar("client_accuracy", record.client_accuracy);
  scalar("train_loss", record.train_loss);
  scalar("participants", record.participants);
  scalar("cost_s", record.compute_s + record.comm_s);
  if (record.accuracy) (void)events_->flush();
  return folder_.append_round(record);
}

std::optional<StopReason> Simulation::stop_after(const RoundRecord& record) const {
  if (diverged_ || state_.broken_rounds >= kBrokenRounds) return StopReason::kDiverged;
  if (state_.totals.target_round) return StopReason::kTarget;
  if (recipe_.budget && state_.totals.compute_s + state_.totals.comm_s > *recipe_.budget) return StopReason::kBudget;
  if (options_.interrupt && *options_.interrupt && record.round < recipe_.rounds) return StopReason::kInterrupted;
  return std::nullopt;
}

Status Simulation::save_checkpoint() {
  const Stopwatch watch(timed(&RunTimes::checkpoints_s));
  Checkpoint checkpoint{.round = state_.round};
  checkpoint.put_string("recipe", format_recipe(recipe_));
  models_->save(checkpoint);
  groups_->save(checkpoint);
  if (adaptive_) adaptive_->save(checkpoint);
  MUSTER_ASSIGN(std::string manifest, states_->save());
  checkpoint.put_string("states", std::move(manifest));
  state_.save(checkpoint, state_.totals.wall_s + now_s() - started_s_);
  checkpoint.put_floats("client-accuracy", evaluator_->client_accuracy());
  return write_checkpoint(folder_.checkpoints(), checkpoint);
}

Status Simulation::load_checkpoint() {
  const std::vector<std::filesystem::path> files = list_checkpoints(folder_.checkpoints());
  // Killed before the first checkpoint: from the start, which gives the same run.
  if (files.empty()) return folder_.forget_rounds_after(0);
  Status loaded;
  for (const std::filesystem::path& file : files) {
    Result<Checkpoint> checkpoint = read_checkpoint(file);
    loaded = checkpoint ? restore(*checkpoint) : Status(std::move(checkpoint).error());
    if (loaded) return {};
    if (options_.say) options_.say(loaded.error().message + "; going back to the checkpoint before");
  }
  return loaded;
}

Status Simulation::restore(const Checkpoint& checkpoint) {
  MUSTER_TRY(models_->restore(checkpoint));
  MUSTER_TRY(groups_->restore(checkpoint));
  if (adaptive_) MUSTER_TRY(adaptive_->restore(checkpoint));
  MUSTER_ASSIGN(const std::string manifest, checkpoint.get_string("states"));
  MUSTER_TRY(states_->restore(manifest));
  MUSTER_ASSIGN(const std::vector<float> client_accuracy, checkpoint.get_floats("client-accuracy"));
  MUSTER_TRY(state_.restore(checkpoint));
  evaluator_->restore_client_accuracy(client_accuracy);
  return folder_.forget_rounds_after(state_.round);
}

RunSummary Simulation::summarise(StopReason reason) const {
  RunSummary summary = state_.totals;
  summary.run = folder_.id();
  summary.recipe = recipe_.name;
  summary.seed = recipe_.seed;
  summary.rounds = state_.round;
  summary.stopped = reason;
  Hasher hasher;
  hasher.add(state_.chain);
  if (!models_->in_clients()) {
    hasher.add(models_->shared());
    for (std::uint32_t g = 0; models_->per_group() && g < models_->count(); ++g) hasher.add(models_->of(GroupId{g}));
  }
  summary.signature = hex16(hasher.digest());
  summary.target_accuracy = recipe_.target_accuracy;
  summary.clients = data_->clients();
  summary.models = models_->count();
  summary.groups = groups_->grouping().count();
  summary.idle = static_cast<std::uint32_t>(groups_->grouping().idle().size());
  const GroupSizes sizes = group_sizes(groups_->grouping());
  summary.group_size_min = sizes.smallest;
  summary.group_size_max = sizes.largest;
  summary.group_size_mean = sizes.mean;
  summary.quality = groups_->quality();
  summary.wall_s = state_.totals.wall_s + now_s() - started_s_;
  summary.peak_rss_bytes = peak_rss_bytes();
  summary.dir = folder_.path();
  summary.data = data_->summary();
  summary.parameters = network_->parameters();
  return summary;
}

Status Simulation::write_results(const RunSummary& summary) {
  const Stopwatch watch(timed(&RunTimes::records_s));
  MUSTER_TRY(folder_.write("summary.json", to_json(summary) + "\n"));
  const std::span<const float> accuracy = evaluator_->client_accuracy();
  const std::vector<GroupId> group_of = groups_of_clients(groups_->grouping(), data_->clients());
  MUSTER_TRY(folder_.write_clients(data_->clients(), [&](std::uint32_t k) {
    const bool evaluated = !accuracy.empty() && !std::isnan(accuracy[k]);
    std::string name = data_->client_name(ClientId{k});
    if (name.find_first_of(",\"\n\r") != std::string::npos) {
      std::string escaped = "\"";
      for (const char c : name) escaped += c == '"' ? std::string("\"\"") : std::string(1, c);
      name = escaped + '"';
    }
    return fmt::format("{},{},{},{},{},{},{}", k, name, data_->train_count(ClientId{k}),
                       group_of[k] == kNoGroup ? "" : std::to_string(group_of[k].value), state_.tallies[k].trained,
                       state_.tallies[k].dropped, evaluated ? fmt::format("{:.6g}", accuracy[k]) : "");
  }));
  if (models_->in_clients()) return {};
  const std::map<std::string, std::string> about{
      {"recipe", recipe_.name}, {"signature", summary.signature}, {"rounds", std::to_string(state_.round)}};
  MUSTER_TRY(write_safetensors(folder_.path() / "model.safetensors", *network_, models_->shared(), about));
  for (std::uint32_t g = 0; models_->per_group() && g < models_->count(); ++g) {
    MUSTER_TRY(write_safetensors(folder_.path() / fmt::format("model-{}.safetensors", g), *network_,
                                 models_->of(GroupId{g}), about));
  }
  return {};
}

}  // namespace

Result<RunSummary> simulate(const Recipe& recipe, const SimulationOptions& options) {
  MUSTER_TRY(check_recipe(recipe));
  MUSTER_ASSIGN(RunFolder folder, RunFolder::create(options.out, recipe.name, recipe.seed));
  // An error before the first round leaves nothing behind.
  const std::filesystem::path path = folder.path();
  MUSTER_TRY(folder.write("recipe.toml", format_recipe(recipe)));
  Simulation simulation(recipe, options, std::move(folder));
  if (Status status = simulation.prepare(false); !status) {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
    return std::move(status).error();
  }
  return simulation.run();
}

Result<RunSummary> resume(const std::string& run, const std::vector<std::string>& settings,
                          const SimulationOptions& options) {
  MUSTER_ASSIGN(RunFolder folder, RunFolder::open(options.out, run));
  MUSTER_ASSIGN(Recipe recipe, load_recipe((folder.path() / "recipe.toml").string()));
  for (const std::string& setting : settings) {
    const std::string key = setting.substr(0, setting.find('='));
    if (key != "rounds" && key != "target-accuracy" && key != "budget" && key != "checkpoint-every") {
      return usage_error(
          "--set {}: a resumed run keeps its recipe; only rounds, target-accuracy, budget and checkpoint-every can "
          "change",
          key);
    }
    MUSTER_TRY(apply_setting(recipe, setting));
  }
  if (!settings.empty()) MUSTER_TRY(folder.write("recipe.toml", format_recipe(recipe)));
  Simulation simulation(recipe, options, std::move(folder));
  MUSTER_TRY(simulation.prepare(true));
  return simulation.run();
}

}  // namespace muster
