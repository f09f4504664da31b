#include "engine/adaptive_epochs.h"

#include <algorithm>
#include <cmath>

namespace muster {
namespace {

constexpr double kMostEpochs = 1'000'000;    // as many as a recipe may ask for
constexpr std::size_t kListedClients = 200;  // more would fill the record of every round

EpochRounding rounding_of(const std::string& word) {
  if (word == "fractional") return EpochRounding::kFractional;
  return word == "ceil" ? EpochRounding::kCeil : EpochRounding::kRound;
}

}  // namespace

AdaptiveEpochs::AdaptiveEpochs(const LocalOptions& options, std::vector<std::uint32_t> samples,
                               const LossHistory& losses)
    : base_epochs_(options.epochs),
      growth_(options.adapt_epochs.value_or(0)),
      tolerance_(options.loss_tolerance),
      rounding_(rounding_of(options.epoch_rounding)),
      samples_(std::move(samples)),
      losses_(losses),
      largest_{static_cast<std::uint32_t>(std::ranges::max_element(samples_) - samples_.begin())},
      epochs_(samples_.size(), options.epochs) {}

double AdaptiveEpochs::growth_base(ClientId client) const {
  return growth_ * samples_[largest_.value] / samples_[client.value];
}

double AdaptiveEpochs::epochs(ClientId client) const {
  const double exact = epochs_[client.value];
  if (frozen_ || rounding_ == EpochRounding::kFractional) return exact;
  return std::max(1.0, rounding_ == EpochRounding::kCeil ? std::ceil(exact) : std::floor(exact + 0.5));
}

void AdaptiveEpochs::freeze() {
  frozen_ = true;
  std::ranges::fill(epochs_, base_epochs_);
}

void AdaptiveEpochs::prepare(RoundTasks& round) {
  round.epochs.assign(round.tasks.size(), {});
  for (std::size_t i = 0; i < round.tasks.size(); ++i) {
    for (const ClientId client : round.tasks[i].members) round.epochs[i].push_back(epochs(client));
    round.tasks[i].epochs = round.epochs[i];
  }
  asked_ = frozen_ ? std::nullopt : figures(round);
}

std::optional<EpochFigures> AdaptiveEpochs::figures(const RoundTasks& round) const {
  EpochFigures found{.min = kMostEpochs};
  double sum = 0;
  std::size_t count = 0;
  for (const GroupTask& task : round.tasks) {
    for (const ClientId client : task.members) {
      const double own = epochs(client);
      found.min = std::min(found.min, own);
      found.max = std::max(found.max, own);
      sum += own;
      if (++count > kListedClients) continue;
      found.clients.push_back({.client = client.value, .samples = samples_[client.value], .epochs = own});
    }
  }
  if (count == 0) return std::nullopt;
  found.mean = sum / static_cast<double>(count);
  if (count > kListedClients) found.clients.clear();
  std::ranges::sort(found.clients, {}, &EpochFigures::OfClient::client);
  return found;
}

void AdaptiveEpochs::end(const Models&, RoundRecord& record) {
  record.epochs = std::move(asked_);
  asked_.reset();
  if (frozen_) return;
  // E <- E + (alpha n* / n)^rho with rho = min(1, loss / loss*), for clients whose summed loss is above that of the
  // largest by more than the tolerance: without one, noise alone splits clients of equal data into two lengths.
  const double reference = losses_.summed(largest_);
  const double largest_last = losses_.last(largest_);
  for (std::uint32_t k = 0; k < epochs_.size(); ++k) {
    if (samples_[k] == 0 || k == largest_.value) continue;
    if (!(losses_.summed({k}) > (1 + tolerance_) * reference)) continue;
    const double rho = largest_last > 0 ? std::min(1.0, losses_.last({k}) / largest_last) : 1.0;
    const double base = growth_base({k});
    if (base > 0 && std::isfinite(rho)) epochs_[k] = std::min(kMostEpochs, epochs_[k] + std::pow(base, rho));
  }
}

void AdaptiveEpochs::save(Checkpoint& checkpoint) const {
  checkpoint.put_doubles("epochs", epochs_);
  checkpoint.put_uint64("epochs-frozen", frozen_ ? 1 : 0);
}

Status AdaptiveEpochs::restore(const Checkpoint& checkpoint) {
  MUSTER_ASSIGN(std::vector<double> epochs, checkpoint.get_doubles("epochs"));
  MUSTER_ASSIGN(const std::uint64_t frozen, checkpoint.get_uint64("epochs-frozen"));
  bool possible = epochs.size() == samples_.size();
  for (std::uint32_t k = 0; possible && k < epochs.size(); ++k) {
    // No round adds more than the larger of 1 and the base, whatever rho was; with room for rounding.
    const double most = base_epochs_ + checkpoint.round * std::max(1.0, samples_[k] > 0 ? growth_base({k}) : 0.0);
    possible = epochs[k] > 0 && epochs[k] <= std::min(std::max(kMostEpochs, base_epochs_), 1.001 * most);
  }
  if (!possible) {
    return failure("checkpoint of round {} holds the epochs of {} clients in another form, the recipe has {} clients",
                   checkpoint.round, epochs.size(), samples_.size());
  }
  epochs_ = std::move(epochs);
  frozen_ = frozen != 0;
  return {};
}

}  // namespace muster
