#include "engine/round_loop.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/clock.h"
#include "base/stopwatch.h"
#include "plan/plan.h"
#include "recipe/choices.h"

namespace muster {
namespace {

// Those of `clients` (ascending) that have not vanished in the round so far.
std::vector<ClientId> still_there(std::span<const ClientId> clients, const RoundRecord& record) {
  std::vector<ClientId> gone;
  for (const Dropped& dropped : record.dropped) gone.push_back(dropped.client);
  std::ranges::sort(gone);
  std::vector<ClientId> there;
  std::ranges::set_difference(clients, gone, std::back_inserter(there));
  return there;
}

}  // namespace

Result<StopReason> RoundLoop::run() {
  std::optional<StopReason> reason = stop_reason();
  while (!reason) {
    if (Status status = next_round(); !status) {
      // The round before is done, whatever became of this one.
      MUSTER_TRY(settle());
      return std::move(status).error();
    }
    if (waiting_) continue;
    reason = stop_reason();
    if (!reason && interrupted()) reason = StopReason::kInterrupted;
    if (!reason && state_.round % recipe_.checkpoint_every == 0) MUSTER_TRY(save_checkpoint());
  }
  MUSTER_TRY(save_checkpoint());
  return *reason;
}

Status RoundLoop::next_round() {
  const double begun_s = now_s();
  RoundRecord record{.round = state_.round + 1, .attacked = attackers_ != nullptr};
  recorder_.begin_round(record.round);
  MUSTER_TRY(form_groups(record));
  MUSTER_ASSIGN(RoundPlan plan, draw(record));
  // Not where whole groups are drawn: nobody else is in them, and what a group counts follows from its draw.
  if (federation_.over_select() > 1 && !recipe_.plan.sample_groups) {
    plan = over_select(plan, groups_->grouping(), federation_.over_select(), recipe_.seed);
  }
  MUSTER_TRY(train(plan, record));
  MUSTER_TRY(follow_event(record));
  state_.round = record.round;
  state_.add_training(record);
  record.cost_total_s = state_.totals.cost_s();
  record.bytes_total = state_.totals.bytes_up + state_.totals.bytes_down;
  record.wall_s = now_s() - begun_s;
  return conclude(std::move(record));
}

Status RoundLoop::form_groups(RoundRecord& record) {
  const std::string_view why = groups_->due(record.round);
  if (why.empty()) return {};
  const Stopwatch watch(timed(&RunTimes::group_s));
  recorder_.phase("grouping");
  MUSTER_ASSIGN(GroupsFormed formed, groups_->form(record.round, why, participation_.times_drawn()));
  account(formed, record);
  return {};
}

// Clients are drawn from all that are there; those in no group are placed first.
Result<RoundPlan> RoundLoop::draw(RoundRecord& record) {
  const auto plan_of = [&](const Grouping& grouping, std::span<const double> cov) {
    const Stopwatch watch(timed(&RunTimes::plan_s));
    return plan_round(recipe_.plan, grouping, recipe_.seed, record.round, cov);
  };
  if (!groups_->places_newcomers()) return plan_of(groups_->grouping(), groups_->cov());
  const std::vector<ClientId> present = federation_.roster().present(record.round);
  if (recipe_.plan.sample_groups) {
    MUSTER_TRY(place(record, groups_->to_place(present)));
    return plan_of(groups_->grouping(), groups_->cov());
  }
  if (recipe_.newcomers.at_once) MUSTER_TRY(place(record, groups_->to_place(present)));
  Grouping all;
  all.add(present);
  const RoundPlan drawn = plan_of(all, {});
  const std::span<const ClientId> clients = drawn.groups.empty() ? std::span<const ClientId>() : drawn.members(0, all);
  MUSTER_TRY(place(record, groups_->to_place(clients)));
  // Who vanished before it could choose does not train either.
  if (groups_->rejoins()) return plan_for_clients(still_there(clients, record), groups_->grouping(), record.round);
  return plan_for_clients(clients, groups_->grouping(), record.round);
}

Status RoundLoop::place(RoundRecord& record, std::span<const ClientId> waiting) {
  // Who vanished when this round's groups were formed is not asked a second time in it.
  const std::vector<ClientId> reachable = still_there(waiting, record);
  if (reachable.empty()) return {};
  const Stopwatch watch(timed(&RunTimes::group_s));
  MUSTER_ASSIGN(GroupsFormed formed, groups_->place(record.round, reachable, *models_));
  account(formed, record);
  return {};
}

Status RoundLoop::train(const RoundPlan& plan, RoundRecord& record) {
  MUSTER_TRY(check_observers(plan.round));
  const double begun_s = now_s();
  models_->begin(plan.round, plan.groups.size());
  RoundCall call{.round = plan.round,
                 .broadcast = models_->broadcast(),
                 .own_models = models_->in_clients(),
                 .enough_groups = plan.enough_groups,
                 .parameters = federation_.network().parameters()};
  RoundTasks round{.round = plan.round};
  for (std::size_t i = 0; i < plan.groups.size(); ++i) {
    const std::span<const float> start = models_->start(plan.groups[i], i);
    const auto same = [&](std::span<const float> model) { return model.data() == start.data(); };
    const auto known = std::ranges::find_if(call.models, same);
    round.tasks.push_back({.group = plan.groups[i],
                           .model = static_cast<std::uint32_t>(known - call.models.begin()),
                           .members = plan.members(i, groups_->grouping()),
                           .enough = plan.enough.empty() ? 0 : plan.enough[i]});
    if (known == call.models.end()) call.models.push_back(start);
  }
  const Grouping& grouping = groups_->grouping();
  const auto idle = static_cast<std::uint32_t>(grouping.idle().size());
  if (privacy_) privacy_->set_drawn_from(federation_.roster().clients() - idle);
  bool members = false;
  for (RoundObserver* const observer : observers_) {
    observer->prepare(round);
    call.measure = call.measure || observer->wants_losses(plan.round);
    members = members || observer->wants_members(plan.round);
  }
  cost_.set_round(federation_.roster().clients() - idle, grouping.count(), call.broadcast.size());
  std::vector<double> importance(round.tasks.size(), 1.0);
  if (corrects_draw(recipe_.aggregation.global)) {
    importance = draw_corrections(recipe_.aggregation.global, plan.log_probabilities, groups_->samples());
  }

  recorder_.training(0, round.tasks.size());
  UpdateSink sink;
  std::size_t index = 0;
  sink.group = [&](GroupUpdate& update) {
    const Stopwatch watch(timed(&RunTimes::aggregate_s));
    update.importance = importance[index];
    for (RoundObserver* const observer : observers_) observer->group(update);
    if (models_->in_clients() && !update.members.empty()) state_.sign_own_model(update.members.front().own_model);
    models_->add(update, index++);
    recorder_.training(index, round.tasks.size());
  };
  if (members) {
    sink.member = [&](const GroupUpdate& update, std::span<const float> start) {
      for (RoundObserver* const observer : observers_) {
        if (observer->wants_members(plan.round)) observer->member(update, start);
      }
    };
  }
  MUSTER_TRY(federation_.train(call, round.tasks, sink));
  if (groups_->sent()) MUSTER_TRY(groups_->sent()->status());
  state_.totals.train_s += now_s() - begun_s;
  MUSTER_TRY(settle());
  {
    const Stopwatch watch(timed(&RunTimes::aggregate_s));
    models_->finish();
  }
  record.groups = static_cast<std::uint32_t>(plan.groups.size());
  record.groups_formed = grouping.count();
  record.group_size_max = group_sizes(grouping).largest;
  record.idle = idle;
  record.models = models_->count();
  for (RoundObserver* const observer : observers_) observer->end(*models_, record);
  state_.totals.samples_trained += participation_.samples_trained();
  return {};
}

Status RoundLoop::follow_event(RoundRecord& record) {
  const RegroupEvent* const event = groups_->awaited();
  if (event) groups_->calibrate(record.round, *observed_);
  if (!event || record.round < event->earliest() || observed_->clients().empty()) return {};
  const RoundsSoFar so_far{.round = record.round,
                           .loss_variances = losses_ ? losses_->variances() : std::span<const double>()};
  if (!event->happened(so_far)) return {};
  const Stopwatch watch(timed(&RunTimes::group_s));
  recorder_.phase("grouping");
  MUSTER_ASSIGN(GroupsFormed formed, groups_->follow_event(record.round, *observed_, *models_));
  account(formed, record);
  if (!groups_->awaited()) {
    observed_->stop();
    if (adaptive_) adaptive_->freeze();
  }
  return {};
}

void RoundLoop::account(GroupsFormed& formed, RoundRecord& record) {
  record.bytes_up += formed.bytes_up;
  record.bytes_down += formed.bytes_down;
  record.profile_flops += formed.slowest_flops;
  record.dropped.insert(record.dropped.end(), formed.dropped.begin(), formed.dropped.end());
  state_.totals.group_s += formed.seconds;
  state_.totals.profile_s += formed.profile_s;
  state_.totals.samples_trained += formed.samples_trained;
  if (options_.times) options_.times->group_s -= formed.profile_s;  // the stopwatch around it counts all
  for (const std::string& note : formed.notes) recorder_.say(note);
  if (!formed.line.empty()) recorder_.add_grouping(record.round, std::move(formed.line));
  if (!formed.anew) return;
  if (recorder_.wants_picture()) {
    if (auto counts = groups_->label_counts()) recorder_.add_picture(record.round, std::move(*counts));
  }
  models_->regrouped(groups_->grouping(), formed.starts);
  // Groups that are formed again and again would fill a log.
  if (record.round > 1 && !groups_->event()) return;
  if (const auto truth = groups_->truth()) {
    recorder_.say(fmt::format("{} clusters formed in round {}: {} of {} clients right", groups_->grouping().count(),
                              record.round, truth->correct, truth->clients));
  }
}

// The round is trained: evaluate it if it is due, now or beside the next one's training, and write it down.
Status RoundLoop::conclude(RoundRecord record) {
  if (!evaluation_->any() || record.round % recipe_.evaluation.every != 0) return complete(record);
  EvaluationRequest request = evaluation_->request(*models_, groups_->grouping(), record.round);
  if (may_wait(record)) {
    federation_.begin_evaluation(std::move(request));
    waiting_ = std::move(record);
    return {};
  }
  recorder_.phase("evaluating");
  MUSTER_ASSIGN(const EvaluationResult result, federation_.evaluate(std::move(request)));
  return enter(result, record);
}

std::optional<StopReason> RoundLoop::stop_reason() const {
  const std::optional<StopReason> reason = state_.stop_reason(recipe_);
  if (reason && reason != StopReason::kRounds) return reason;
  if (!reason && privacy_ && privacy_->spent()) return StopReason::kBudget;
  return best_ && best_->out_of_patience() ? StopReason::kPatience : reason;
}

// May this round's evaluation go on beside the training of the next one? Not where the next one depends on it, where it
// reads models that the next one changes on the way, where the models may have to be kept, or where something is to be
// saved first.
bool RoundLoop::may_wait(const RoundRecord& record) const {
  const bool kept = models_->per_group() || keeps_parts_in_clients(recipe_);
  return !recipe_.target_accuracy && !best_ && !kept && !attackers_ && record.round % recipe_.checkpoint_every != 0 &&
         !stop_reason() && !interrupted();
}

Status RoundLoop::settle() {
  if (!waiting_) return {};
  RoundRecord record = std::move(*waiting_);
  waiting_.reset();
  MUSTER_ASSIGN(const EvaluationResult result, federation_.end_evaluation());
  return enter(result, record);
}

Status RoundLoop::enter(const EvaluationResult& result, RoundRecord& record) {
  evaluation_->enter(result, record);
  record.wall_s += result.seconds;
  state_.totals.eval_s += result.seconds + result.beside_training_s;
  state_.totals.train_s -= result.beside_training_s;
  MUSTER_TRY(validate(record));
  MUSTER_ASSIGN(record.attack_success, measure_attack(record.round));
  state_.add_evaluation(recipe_, record);
  keep_if_best(record);
  return complete(record);
}

// What becomes of the samples that the attack is after. It goes into the record, and decides nothing.
Result<std::optional<double>> RoundLoop::measure_attack(std::uint32_t round) {
  if (!attackers_ || !evaluation_->tests()) return std::optional<double>();
  MUSTER_ASSIGN(const EvaluationResult result,
                federation_.evaluate(evaluation_->attack_request(*models_, groups_->grouping(), round,
                                                                 attackers_->attack().trigger() != nullptr)));
  state_.totals.eval_s += result.seconds;
  return attackers_->attack().success(evaluation_->predictions(result));
}

// The models of the round that has just been tested, on validation samples.
Status RoundLoop::validate(RoundRecord& record) {
  if (!evaluation_->validates()) return {};
  MUSTER_ASSIGN(const EvaluationResult result,
                federation_.evaluate(evaluation_->validation_request(*models_, groups_->grouping(), record.round)));
  evaluation_->enter_validation(result, record);
  record.wall_s += result.seconds;
  state_.totals.eval_s += result.seconds;
  return {};
}

void RoundLoop::keep_if_best(const RoundRecord& record) {
  if (!best_ || !best_->add(record)) return;
  Checkpoint kept{.round = record.round};
  models_->save(kept);
  groups_->save(kept);
  evaluation_->save(kept);
  best_->keep(std::move(kept));
}

Status RoundLoop::complete(const RoundRecord& record) {
  state_.sign(record);
  last_line_ = to_json(record);
  return recorder_.round(record);
}

}  // namespace muster
