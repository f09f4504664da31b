#include "engine/run_state.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/hash.h"

namespace muster {
namespace {

// Rounds in a row in which every participant's update was not finite, after which the run counts as diverged.
constexpr std::uint32_t kBrokenRounds = 3;

std::uint64_t bits(double value) {
  return std::bit_cast<std::uint64_t>(value);
}

bool over_budget(const Recipe& recipe, const RunTotals& totals) {
  return recipe.budget && totals.cost_s() > *recipe.budget;
}

}  // namespace

void RunState::add_training(const RoundRecord& record) {
  totals.compute_s += record.compute_s;
  totals.comm_s += record.comm_s;
  totals.bytes_up += record.bytes_up;
  totals.bytes_down += record.bytes_down;
  totals.links.client_server += record.links.client_server;
  totals.links.relay += record.links.relay;
  totals.links.edge_cloud += record.links.edge_cloud;
  if (record.secure) {
    totals.sums += record.secure->sums;
    totals.sums_abandoned += record.secure->abandoned;
  }
  const bool all_broken =
      record.participants == 0 && !record.dropped.empty() &&
      std::ranges::all_of(record.dropped, [](const Dropped& d) { return d.reason == DropReason::kNonFinite; });
  broken_rounds = all_broken ? broken_rounds + 1 : 0;
}

void RunState::add_evaluation(const Recipe& recipe, const RoundRecord& record) {
  totals.accuracy_last = record.accuracy;
  totals.loss_last = record.loss;
  totals.evaluated_round = record.round;
  if (record.loss && !std::isfinite(*record.loss) && diverged_round == 0) diverged_round = record.round;
  const bool paid_for = !recipe.budget || record.cost_total_s <= *recipe.budget;
  if (!record.accuracy || record.covered.value_or(1) < 1 || !paid_for) return;
  if (!totals.accuracy_best || *record.accuracy > *totals.accuracy_best) {
    totals.accuracy_best = record.accuracy;
    totals.best_round = record.round;
  }
  if (recipe.target_accuracy && !totals.target_round && *record.accuracy >= *recipe.target_accuracy) {
    totals.target_round = record.round;
  }
}

void RunState::sign(const RoundRecord& record) {
  Hasher hasher;
  hasher.add(chain);
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
  if (record.secure) {
    hasher.add(std::uint64_t{record.secure->abandoned} << 32 | record.secure->sums);
    for (const LostMember& lost : record.secure->lost) {
      hasher.add(std::uint64_t{lost.client.value} << 8 | static_cast<std::uint64_t>(lost.phase));
    }
  }
  // Runs without validation samples have the signatures they had before there were any.
  if (record.validation_accuracy) {
    hasher.add(bits(*record.validation_accuracy));
    hasher.add(bits(record.validation_loss.value_or(0)));
  }
  if (record.merge) {
    for (const FilteredRecord& filtered : record.merge->filtered) {
      hasher.add(std::uint64_t{filtered.client ? filtered.client->value + 1 : 0} << 32 |
                 (filtered.group ? filtered.group->value + 1 : 0));
      hasher.add(static_cast<std::uint64_t>(filtered.reason));
    }
    hasher.add(record.merge->clipped);
    for (const auto& group : record.merge->fell_back) hasher.add(group ? group->value + 1 : 0);
  }
  if (record.attack_success) hasher.add(bits(*record.attack_success));
  if (record.epsilon) hasher.add(bits(*record.epsilon));
  chain = hasher.digest();
}

void RunState::sign_own_model(std::uint64_t hash) {
  const std::uint64_t link[2] = {chain, hash};
  chain = hash_bytes(link, sizeof link);
}

std::optional<StopReason> RunState::stop_reason(const Recipe& recipe) const {
  if ((diverged_round > 0 && round > diverged_round) || broken_rounds >= kBrokenRounds) return StopReason::kDiverged;
  if (totals.target_round) return StopReason::kTarget;
  if (over_budget(recipe, totals)) return StopReason::kBudget;
  if (round >= recipe.rounds) return diverged_round > 0 ? StopReason::kDiverged : StopReason::kRounds;
  return std::nullopt;
}

void RunState::save(Checkpoint& checkpoint) const {
  checkpoint.put_uint64("chain", chain);
  checkpoint.put_uint64("broken-rounds", broken_rounds);
  checkpoint.put_uint64("diverged-round", diverged_round);
  totals.save(checkpoint);
}

Status RunState::restore(const Checkpoint& checkpoint, const Recipe& recipe) {
  MUSTER_ASSIGN(chain, checkpoint.get_uint64("chain"));
  MUSTER_ASSIGN(const std::uint64_t broken, checkpoint.get_uint64("broken-rounds"));
  MUSTER_ASSIGN(const std::uint64_t diverged, checkpoint.get_uint64("diverged-round"));
  if (broken > checkpoint.round || diverged > checkpoint.round) {
    return failure("checkpoint of round {} tells of a later round", checkpoint.round);
  }
  MUSTER_TRY(totals.restore(checkpoint));
  round = checkpoint.round;
  broken_rounds = static_cast<std::uint32_t>(broken);
  diverged_round = static_cast<std::uint32_t>(diverged);
  // A run that stopped at its target may be given another one.
  if (totals.target_round && !(recipe.target_accuracy && totals.accuracy_last >= recipe.target_accuracy)) {
    totals.target_round.reset();
  }
  return {};
}

}  // namespace muster
