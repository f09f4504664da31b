// PrivacyBudget: what the rounds of a private run, and what clients told before them, have cost so far, and whether
// there is enough left for another round.
#pragma once

#include "aggregate/privacy_accountant.h"
#include "aggregate/privacy_options.h"
#include "engine/noise_record.h"
#include "engine/round_observer.h"

namespace muster {

class PrivacyBudget final : public RoundObserver {
 public:
  // `told`: what telling profiles costs each client at most, once; 0 = they tell nothing. `always_drawn`: how clients
  // are drawn hides nobody.
  PrivacyBudget(const PrivacyOptions& options, double told, bool always_drawn);

  // Who knows which noisy sums have left; borrowed, null where their noise comes from the seed. Drawing hides nobody
  // then: those who see the models know the recipe, and so who is drawn.
  void set_noise(NoiseRecord* noise) {
    noise_ = noise;
    always_drawn_ = always_drawn_ || noise;
  }

  // Among how many clients the next round's are drawn. Before prepare().
  void set_drawn_from(std::uint32_t clients) { drawn_from_ = clients; }

  // Fails if not even one round of the given share of clients is within dp.epsilon.
  [[nodiscard]] Status check_first(double share) const;
  // A round like the last one would exceed dp.epsilon, or it could not be put down what it cost.
  [[nodiscard]] bool spent() const;
  [[nodiscard]] double epsilon() const { return accountant_.epsilon(options_.delta); }

  void prepare(RoundTasks& tasks) override;
  void end(const Models& models, RoundRecord& record) override;

  void save(Checkpoint& checkpoint) const override;
  [[nodiscard]] Status restore(const Checkpoint& checkpoint) override;

 private:
  [[nodiscard]] double epsilon_with(double share) const;

  PrivacyOptions options_;
  bool always_drawn_;
  NoiseRecord* noise_ = nullptr;
  PrivacyAccountant accountant_;
  std::uint32_t drawn_from_ = 0;
  double share_ = 0;  // of the last round; 0 = there was none
};

}  // namespace muster
