#include "engine/best_round.h"

#include <cmath>
#include <utility>

namespace muster {
namespace {

// Sections of the models that are kept have their own names behind this.
constexpr std::string_view kKept = "best.kept.";

void put(Checkpoint& checkpoint, const char* name, const std::optional<double>& value) {
  checkpoint.put_doubles(name, value ? std::span<const double>(&*value, 1) : std::span<const double>());
}

Result<std::optional<double>> get(const Checkpoint& checkpoint, const char* name) {
  MUSTER_ASSIGN(const std::vector<double> values, checkpoint.get_doubles(name));
  if (values.size() > 1) return failure("checkpoint of round {}: '{}' is a list", checkpoint.round, name);
  return values.empty() ? std::optional<double>() : std::optional(values.front());
}

bool no_share(const std::optional<double>& value) {
  return value && !(*value >= 0 && *value <= 1);
}

}  // namespace

BestRound::BestRound(const Recipe& recipe)
    : budget_(recipe.budget),
      patience_(recipe.stop.patience),
      min_delta_(recipe.stop.min_delta),
      keeps_(recipe.evaluation.keep == "best") {}

bool BestRound::add(const RoundRecord& record) {
  const bool paid_for = !budget_ || record.cost_total_s <= *budget_;
  if (!record.validation_accuracy || record.validation_covered.value_or(1) < 1 || !paid_for) return false;
  if (!std::isfinite(record.validation_loss.value_or(NAN))) return false;
  const double found = *record.validation_accuracy;
  if (!to_beat_ || found > *to_beat_ + min_delta_) {
    to_beat_ = found;
    without_better_ = 0;
  } else {
    ++without_better_;
  }
  if (validation_ && found <= *validation_) return false;
  round_ = record.round;
  validation_ = found;
  accuracy_ = record.accuracy;
  loss_ = record.loss;
  return keeps_;
}

void BestRound::save(Checkpoint& checkpoint) const {
  checkpoint.put_uint64("best.round", round_);
  put(checkpoint, "best.validation", validation_);
  put(checkpoint, "best.accuracy", accuracy_);
  put(checkpoint, "best.loss", loss_);
  put(checkpoint, "best.to-beat", to_beat_);
  checkpoint.put_uint64("best.without-better", without_better_);
  if (!kept_) return;
  for (const auto& [name, content] : kept_->sections) checkpoint.sections[std::string(kKept) + name] = content;
}

Status BestRound::restore(const Checkpoint& checkpoint) {
  MUSTER_ASSIGN(const std::uint64_t round, checkpoint.get_uint64("best.round"));
  MUSTER_ASSIGN(const std::uint64_t without_better, checkpoint.get_uint64("best.without-better"));
  MUSTER_ASSIGN(validation_, get(checkpoint, "best.validation"));
  MUSTER_ASSIGN(accuracy_, get(checkpoint, "best.accuracy"));
  MUSTER_ASSIGN(loss_, get(checkpoint, "best.loss"));
  MUSTER_ASSIGN(to_beat_, get(checkpoint, "best.to-beat"));
  const bool any = round > 0;
  if (round > checkpoint.round || without_better > checkpoint.round || validation_.has_value() != any ||
      to_beat_.has_value() != any || no_share(validation_) || no_share(to_beat_) || no_share(accuracy_)) {
    return failure("checkpoint of round {} holds a best round of another form", checkpoint.round);
  }
  round_ = static_cast<std::uint32_t>(round);
  without_better_ = static_cast<std::uint32_t>(without_better);
  kept_.reset();
  if (!keeps_ || !any) return {};
  kept_.emplace().round = round_;
  for (const auto& [name, content] : checkpoint.sections) {
    if (name.starts_with(kKept)) kept_->sections[name.substr(kKept.size())] = content;
  }
  return {};
}

}  // namespace muster
