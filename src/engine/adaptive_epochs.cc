#include "engine/adaptive_epochs.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "plan/regroup.h"

namespace muster {

AdaptiveEpochs::AdaptiveEpochs(const LocalOptions& options, std::vector<std::uint32_t> samples)
    : options_(options),
      samples_(std::move(samples)),
      largest_(static_cast<std::uint32_t>(std::ranges::max_element(samples_) - samples_.begin())),
      epochs_(samples_.size(), options.epochs),
      summed_(samples_.size(), std::numeric_limits<double>::quiet_NaN()),
      last_(samples_.size(), std::numeric_limits<double>::quiet_NaN()) {}

double AdaptiveEpochs::epochs(ClientId client) const {
  const double exact = epochs_[client.value];
  if (!options_.adapt_epochs || frozen_ || options_.epoch_rounding == "fractional") return exact;
  return std::max(1.0, options_.epoch_rounding == "ceil" ? std::ceil(exact) : std::floor(exact + 0.5));
}

void AdaptiveEpochs::freeze() {
  frozen_ = true;
  std::ranges::fill(epochs_, options_.epochs);
}

void AdaptiveEpochs::add_loss(ClientId client, double loss) {
  double& sum = summed_[client.value];
  sum = std::isnan(sum) ? loss : sum + loss;
  last_[client.value] = loss;
}

void AdaptiveEpochs::end_round() {
  variances_.push_back(cumulative_loss_variance(summed_));
  if (!options_.adapt_epochs || frozen_) return;
  // E <- E + (alpha n* / n)^rho with rho = min(1, loss / loss*), for clients whose summed loss is above that of the
  // largest by more than the tolerance: without one, noise alone splits clients of equal data into two lengths.
  const double reference = summed_[largest_];
  for (std::uint32_t k = 0; k < epochs_.size(); ++k) {
    if (samples_[k] == 0 || k == largest_) continue;
    if (!(summed_[k] > (1 + options_.loss_tolerance) * reference)) continue;
    const double rho = last_[largest_] > 0 ? std::min(1.0, last_[k] / last_[largest_]) : 1.0;
    const double base = *options_.adapt_epochs * samples_[largest_] / samples_[k];
    if (base > 0 && std::isfinite(rho)) epochs_[k] += std::pow(base, rho);
  }
}

void AdaptiveEpochs::save(Checkpoint& checkpoint) const {
  checkpoint.put_doubles("epochs", epochs_);
  checkpoint.put_doubles("summed-losses", summed_);
  checkpoint.put_doubles("last-losses", last_);
  checkpoint.put_doubles("loss-variances", variances_);
  checkpoint.put_uint64("epochs-frozen", frozen_ ? 1 : 0);
}

Status AdaptiveEpochs::restore(const Checkpoint& checkpoint) {
  MUSTER_ASSIGN(std::vector<double> epochs, checkpoint.get_doubles("epochs"));
  MUSTER_ASSIGN(std::vector<double> summed, checkpoint.get_doubles("summed-losses"));
  MUSTER_ASSIGN(std::vector<double> last, checkpoint.get_doubles("last-losses"));
  MUSTER_ASSIGN(variances_, checkpoint.get_doubles("loss-variances"));
  MUSTER_ASSIGN(const std::uint64_t frozen, checkpoint.get_uint64("epochs-frozen"));
  if (epochs.size() != samples_.size() || summed.size() != samples_.size() || last.size() != samples_.size()) {
    return failure("checkpoint holds the epochs of {} clients, the recipe has {}", epochs.size(), samples_.size());
  }
  epochs_ = std::move(epochs);
  summed_ = std::move(summed);
  last_ = std::move(last);
  frozen_ = frozen != 0;
  return {};
}

}  // namespace muster
