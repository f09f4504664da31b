// What comes before and after the rounds: setting up, checkpoints, the evaluation at the end, the signature.
#include <algorithm>

#include "base/clock.h"
#include "base/hash.h"
#include "base/random.h"
#include "base/stopwatch.h"
#include "engine/discrepancy.h"
#include "engine/round_loop.h"
#include "engine/saved_recipe.h"
#include "engine/sent_values.h"
#include "recipe/choices.h"
#include "solver/training_flops.h"

namespace muster {
namespace {

CostSetting cost_setting(const Recipe& recipe, const Federation& federation, const Objective& objective,
                         const SentValues& sent) {
  return {.options = recipe.cost,
          .objective = recipe.local.objective.name,
          .network = {.sample_flops = training_flops(federation.network(), objective.output_match() > 0),
                      .values = sent.model},
          .in_sequence = federation.trainer().in_sequence(),
          .visits = federation.trainer().visits(),
          .edges = federation.roster().edges() > 1,
          .secure = sums_securely(recipe),
          .sealed = relays_sealed(recipe),
          .sent = sent};
}

}  // namespace

RoundLoop::RoundLoop(const Recipe& recipe, Federation& federation, RunFolder& folder, RunRecorder& recorder,
                     const SimulationOptions& options)
    : recipe_(recipe),
      federation_(federation),
      folder_(folder),
      recorder_(recorder),
      options_(options),
      started_s_(now_s()),
      participation_(federation.roster().clients()),
      cost_({}) {}

Result<std::unique_ptr<RoundLoop>> RoundLoop::make(const Recipe& recipe, Federation& federation, const Oracle* oracle,
                                                   RunFolder& folder, RunRecorder& recorder,
                                                   const SimulationOptions& options) {
  std::unique_ptr<RoundLoop> made(new RoundLoop(recipe, federation, folder, recorder, options));
  if (oracle) made->attackers_ = oracle->attackers();
  const Network& network = federation.network();
  MUSTER_ASSIGN(made->groups_, Groups::make(recipe, federation, oracle, folder.path() / "sent"));
  made->groups_->watch_profiles([&recorder](std::size_t answered, std::size_t asked) {
    if (answered < asked) {
      recorder.phase("profiles", answered, asked);
    } else {
      recorder.phase("grouping");
    }
  });
  std::vector<float> initial(network.size());
  Stream stream({.seed = recipe.seed, .purpose = Purpose::kInitialise});
  network.initialise(initial, stream);
  made->initial_model_ = hex16(hash_bytes(initial.data(), initial.size() * sizeof(float)));
  MUSTER_ASSIGN(ParameterRanges shared, parts_of(network, recipe.aggregation.shared, "aggregation.shared"));
  NoiseSource noise;
  if (!options.noise_key.empty() && !recipe.dp.on() && !clients_add_noise(recipe)) {
    return usage_error("--noise-key: {} has no effect without dp.clip or profile.epsilon", options.noise_key.string());
  }
  if (recipe.dp.on() && !sums_securely(recipe)) {
    MUSTER_ASSIGN(made->noise_, NoiseRecord::open(folder.path(), options.noise_key, options.secret_noise));
  }
  if (NoiseRecord* const record = made->noise_.get()) {
    noise = {record->key(), [record](std::uint32_t merge, std::uint64_t release) { record->leaves(merge, release); }};
  }
  MUSTER_ASSIGN(made->models_, make_models(recipe, aggregator_sizes(recipe, network, federation.roster().clients()),
                                           std::move(initial), std::move(shared), &noise));
  const bool separate = made->models_->per_group() || scores_clients_apart(recipe);
  MUSTER_ASSIGN(made->evaluation_, RunEvaluation::make(recipe.evaluation, federation, separate, recipe.seed));
  if (made->groups_->rejoins()) made->evaluation_->leave_out_ungrouped();
  if (made->evaluation_->validates()) made->best_ = std::make_unique<BestRound>(recipe);
  MUSTER_ASSIGN(const std::unique_ptr<Objective> objective, make_objective(recipe.local.objective));
  MUSTER_ASSIGN(const SentValues sent, sent_values(recipe.local, network, objective->has_payload()));
  made->cost_ = CostMeter(cost_setting(recipe, federation, *objective, sent));
  if (recipe.dp.on()) MUSTER_TRY(made->make_private());
  made->add_observers();
  for (std::uint32_t round = 1; round <= recipe.rounds; ++round) MUSTER_TRY(made->check_observers(round));
  return made;
}

// The recipe's own do not ask for what a secure sum hides; those that a program adds may.
Status RoundLoop::check_observers(std::uint32_t round) const {
  if (!sums_securely(recipe_)) return {};
  for (const RoundObserver* const observer : options_.observers) {
    if (!observer->wants_members(round)) continue;
    return usage_error(
        "observers: one wants what every member sends in round {}, which aggregation.in-group = \"{}\" hides; want "
        "observers of groups only, or another aggregation.in-group",
        round, recipe_.aggregation.in_group);
  }
  return {};
}

// Noise on told labels hides one sample; of a client that has n it hides all with n times the epsilon.
Status RoundLoop::make_private() {
  const Network& network = federation_.network();
  if (network.size() != network.parameters()) {
    return usage_error(
        "dp.clip: {}, but {} running statistics of batch normalisation are sent beside the trained parameters, and "
        "nothing hides those; want model.norm = \"group\" or another model",
        *recipe_.dp.clip, network.size() - network.parameters());
  }
  const Roster& roster = federation_.roster();
  double told = 0;
  if (const std::optional<double> epsilon = federation_.profile_kind().epsilon()) {
    for (std::uint32_t k = 0; k < roster.clients(); ++k) {
      told = std::max(told, *epsilon * roster.train_samples({k}));
    }
  }
  // Noise of clients' own hides them from the server, which draws them.
  const bool uniform =
      !recipe_.plan.sample_groups && recipe_.plan.sampling == PlanOptions{}.sampling && !sums_securely(recipe_);
  privacy_ = std::make_unique<PrivacyBudget>(recipe_.dp, told, !uniform);
  privacy_->set_noise(noise_.get());
  const std::uint32_t clients = roster.clients();
  const std::uint32_t drawn = recipe_.plan.sample_clients.of(clients);
  return privacy_->check_first(static_cast<double>(drawn) / clients);
}

void RoundLoop::add_observers() {
  observers_ = {&participation_, &cost_};
  const InGroupEntry* const in_group = find_in_group(recipe_.aggregation.in_group);
  if ((in_group && in_group->judges) || models_->report()) {
    merges_ = std::make_unique<MergeWatch>(federation_.roster().clients());
    observers_.push_back(merges_.get());
  }
  if (privacy_) observers_.push_back(privacy_.get());
  if (groups_->sent()) observers_.push_back(groups_->sent());
  const RegroupEvent* const event = groups_->event();
  if (recipe_.local.adapt_epochs || (event && event->needs_losses())) {
    losses_ = std::make_unique<LossHistory>(federation_.roster().clients());
    observers_.push_back(losses_.get());
  }
  if (recipe_.local.adapt_epochs) {
    adaptive_ = std::make_unique<AdaptiveEpochs>(recipe_.local, federation_.roster().train_samples(), *losses_);
    observers_.push_back(adaptive_.get());
  }
  if (event) {
    observed_ = std::make_unique<ObservedRound>(federation_.profile_kind(), federation_.network(),
                                                groups_->observed_from(), recipe_.aggregation.start == "members");
    observers_.push_back(observed_.get());
  }
  if (recipe_.evaluation.discrepancy && !models_->in_clients()) {
    discrepancy_ = std::make_unique<Discrepancy>(federation_.network().parameters());
    observers_.push_back(discrepancy_.get());
  }
  observers_.insert(observers_.end(), options_.observers.begin(), options_.observers.end());
}

ClientTally RoundLoop::tally(ClientId client) const {
  ClientTally tally = participation_.tally(client);
  if (merges_) tally.filtered = merges_->filtered(client);
  return tally;
}

double* RoundLoop::timed(double RunTimes::*seconds) const {
  return options_.times ? &(options_.times->*seconds) : nullptr;
}

void RoundLoop::end_setup(double begun_s) {
  started_s_ = begun_s;
  state_.totals.setup_s += now_s() - begun_s;
}

Status RoundLoop::evaluate_end(StopReason& reason) {
  const bool evaluated = state_.totals.evaluated_round == state_.round;
  if (evaluated || !evaluation_->any() || reason == StopReason::kInterrupted || state_.round == 0) return {};
  RoundRecord record{.round = state_.round, .cost_total_s = state_.totals.cost_s()};
  recorder_.phase("evaluating");
  MUSTER_ASSIGN(const EvaluationResult result,
                federation_.evaluate(evaluation_->request(*models_, groups_->grouping(), state_.round)));
  evaluation_->enter(result, record);
  state_.totals.eval_s += result.seconds;
  MUSTER_TRY(validate(record));
  MUSTER_ASSIGN(record.attack_success, measure_attack(record.round));
  record.attacked = attackers_ != nullptr;
  state_.add_evaluation(recipe_, record);
  keep_if_best(record);
  if (reason == StopReason::kRounds && state_.diverged_round > 0) reason = StopReason::kDiverged;
  RunState end;
  end.sign(record);
  end_hash_ = end.chain;
  MUSTER_ASSIGN(const std::string line, with_evaluation(last_line_, record));
  return recorder_.amend(record, line);
}

Status RoundLoop::score_kept(StopReason reason) {
  kept_round_ = state_.round;
  if (best_ && best_->kept()) {
    kept_round_ = best_->round();
    MUSTER_TRY(go_back_to(*best_->kept()));
    state_.totals.accuracy_last = best_->accuracy();
    state_.totals.loss_last = best_->loss();
    state_.totals.evaluated_round = best_->round();
  }
  if (reason == StopReason::kInterrupted || state_.round == 0) {
    final_.sites.skipped = "the run was interrupted";
    return {};
  }
  EvaluationRequest request = evaluation_->final_request(*models_, groups_->grouping(), *kept_round_);
  MUSTER_ASSIGN(const EvaluationResult result, federation_.evaluate(std::move(request)));
  state_.totals.eval_s += result.seconds;
  final_ = evaluation_->enter_final(result);
  MUSTER_ASSIGN(attack_success_, measure_attack(*kept_round_));
  return {};
}

Status RoundLoop::go_back_to(const Checkpoint& kept) {
  MUSTER_TRY(groups_->restore(kept));
  MUSTER_TRY(models_->restore(kept, groups_->grouping().count()));
  return evaluation_->restore(kept);
}

std::string RoundLoop::signature() const {
  Hasher hasher;
  hasher.add(state_.chain);
  if (end_hash_) hasher.add(*end_hash_);
  if (!models_->in_clients()) {
    hasher.add(models_->shared());
    for (std::uint32_t g = 0; models_->per_group() && g < models_->count(); ++g) hasher.add(models_->of(GroupId{g}));
  }
  return hex16(hasher.digest());
}

double RoundLoop::wall_s() const {
  return state_.totals.wall_s + now_s() - started_s_;
}

Status RoundLoop::save_checkpoint() {
  const Stopwatch watch(timed(&RunTimes::checkpoints_s));
  Checkpoint checkpoint{.round = state_.round};
  checkpoint.put_string("recipe", format_recipe(recipe_));
  checkpoint.put_string("last-line", last_line_);
  models_->save(checkpoint);
  groups_->save(checkpoint);
  evaluation_->save(checkpoint);
  if (best_) best_->save(checkpoint);
  for (const RoundObserver* const observer : observers_) observer->save(checkpoint);
  MUSTER_ASSIGN(std::string clients, federation_.save());
  checkpoint.put_string("states", std::move(clients));
  if (groups_->sent()) {
    MUSTER_ASSIGN(std::string sent, groups_->sent()->manifest());
    checkpoint.put_string("sent", std::move(sent));
  }
  RunState state = state_;
  state.totals.wall_s = wall_s();
  state.save(checkpoint);
  return write_checkpoint(folder_.checkpoints(), checkpoint);
}

Status RoundLoop::load_checkpoint() {
  const std::vector<std::filesystem::path> files = list_checkpoints(folder_.checkpoints());
  // Killed before the first checkpoint: from the start, which gives the same run.
  if (files.empty()) return folder_.forget_rounds_after(0);
  Status loaded;
  for (const std::filesystem::path& file : files) {
    Result<Checkpoint> checkpoint = read_checkpoint(file);
    loaded = checkpoint ? restore(*checkpoint) : Status(std::move(checkpoint).error());
    if (!loaded && loaded.error().code == ErrorCode::kUsage) return loaded;
    if (loaded) {
      MUSTER_TRY(folder_.forget_rounds_after(state_.round));
      return state_.round > 0 ? folder_.replace_round(state_.round, last_line_) : Status();
    }
    recorder_.say(loaded.error().message + "; going back to the checkpoint before");
  }
  return loaded;
}

Status RoundLoop::restore(const Checkpoint& checkpoint) {
  MUSTER_ASSIGN(const std::string recipe, checkpoint.get_string("recipe"));
  MUSTER_TRY(check_same_recipe(recipe, recipe_));
  MUSTER_ASSIGN(std::string last_line, checkpoint.get_string("last-line"));
  const bool one_line = last_line.find('\n') == std::string::npos;
  if (checkpoint.round > 0 && (!one_line || round_of(last_line) != checkpoint.round)) {
    return failure("checkpoint of round {} holds no record of that round", checkpoint.round);
  }
  if (recipe_.rounds < checkpoint.round) {
    return usage_error("rounds: {}, but {} of the run are done already; want >= {}", recipe_.rounds, checkpoint.round,
                       checkpoint.round);
  }
  if (best_) {
    MUSTER_TRY(best_->restore(checkpoint));
    // Whether they can be gone back to must be known now, not when the run is over.
    if (best_->kept()) MUSTER_TRY(go_back_to(*best_->kept()));
  }
  MUSTER_TRY(go_back_to(checkpoint));
  for (RoundObserver* const observer : observers_) MUSTER_TRY(observer->restore(checkpoint));
  MUSTER_ASSIGN(const std::string clients, checkpoint.get_string("states"));
  MUSTER_TRY(federation_.restore(clients));
  if (groups_->sent()) {
    MUSTER_ASSIGN(const std::string sent, checkpoint.get_string("sent"));
    MUSTER_TRY(groups_->sent()->recall(sent));
  }
  MUSTER_TRY(state_.restore(checkpoint, recipe_));
  if (observed_ && !groups_->awaited() && state_.round > 0) observed_->stop();
  last_line_ = std::move(last_line);
  return {};
}

}  // namespace muster
