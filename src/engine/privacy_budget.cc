#include "engine/privacy_budget.h"

#include <algorithm>

namespace muster {

PrivacyBudget::PrivacyBudget(const PrivacyOptions& options, double told, bool always_drawn)
    : options_(options), always_drawn_(always_drawn) {
  if (told > 0) accountant_.add_pure(told);
}

double PrivacyBudget::epsilon_with(double share) const {
  PrivacyAccountant next = accountant_;
  next.add_sampled_gaussian(share, options_.noise_multiplier);
  return next.epsilon(options_.delta);
}

Status PrivacyBudget::check_first(double share) const {
  const double first = epsilon_with(always_drawn_ ? 1 : share);
  if (!options_.epsilon || first <= *options_.epsilon) return {};
  return usage_error(
      "dp.epsilon: {}, but the first round already costs {:.2f}{}; want more of it, or a larger dp.noise-multiplier",
      *options_.epsilon, first,
      epsilon() > 0 ? fmt::format(", of which the told labels are {:.2f}", epsilon()) : std::string());
}

bool PrivacyBudget::spent() const {
  if (noise_ && !noise_->failed()) return true;
  return options_.epsilon && share_ > 0 && epsilon_with(share_) > *options_.epsilon;
}

void PrivacyBudget::prepare(RoundTasks& tasks) {
  std::size_t drawn = 0;
  for (const GroupTask& task : tasks.tasks) drawn += task.members.size();
  const double share = drawn_from_ > 0 ? static_cast<double>(drawn) / drawn_from_ : 1.0;
  share_ = always_drawn_ ? 1.0 : std::min(1.0, share);
}

void PrivacyBudget::end(const Models&, RoundRecord& record) {
  // A round that was made before, from other answers, and lost with the process that made it, has been seen as well.
  const std::uint32_t times = 1 + (noise_ ? noise_->take_repeated() : 0);
  accountant_.add_sampled_gaussian(share_, options_.noise_multiplier, times);
  record.epsilon = epsilon();
}

void PrivacyBudget::save(Checkpoint& checkpoint) const {
  checkpoint.put_doubles("privacy", accountant_.renyi());
  checkpoint.put_doubles("privacy-share", {&share_, 1});
}

Status PrivacyBudget::restore(const Checkpoint& checkpoint) {
  MUSTER_ASSIGN(const std::vector<double> renyi, checkpoint.get_doubles("privacy"));
  MUSTER_ASSIGN(const std::vector<double> share, checkpoint.get_doubles("privacy-share"));
  if (share.size() != 1 || !(share[0] >= 0 && share[0] <= 1)) {
    return failure("checkpoint of round {} does not hold the share of clients of a private round", checkpoint.round);
  }
  MUSTER_TRY(accountant_.restore(renyi));
  share_ = share[0];
  return {};
}

}  // namespace muster
