// label-histogram: how many training samples of each class a client has, with Laplace noise where epsilon is set.
#include "profile/formulas.h"
#include "profile/kinds.h"

namespace muster {
namespace {

const ProfileEntry& described() {
  static const ProfileEntry entry{
      .name = "label-histogram",
      .summary = "how many training samples each class has, with Laplace noise if epsilon is set",
      .keys = {"epsilon"},
      .bytes = "4 per class up",
      .reveals = "how many samples of each class the client has",
      .gives = ProfileGives::kLabels};
  return entry;
}

class LabelHistogram final : public ProfileKind {
 public:
  explicit LabelHistogram(const ProfileOptions& options) : epsilon_(options.epsilon) {}

  const ProfileEntry& entry() const override { return described(); }
  std::optional<double> epsilon() const override { return epsilon_; }

 private:
  Result<ProfileReply> do_tell(const ProfileTask&, ProfileSubject& subject) const override {
    ClientProfile profile{.labels = subject.label_counts()};
    // A client without samples has nothing to hide, and must not look as if it had some.
    if (epsilon_ && subject.samples() > 0) {
      profile.labels = noisy_counts(profile.labels, *epsilon_, subject.noise(profile.labels, *epsilon_));
    }
    return ProfileReply{std::move(profile)};
  }

  std::optional<double> epsilon_;
};

}  // namespace

ListedProfileKind list_label_histogram() {
  return listed<LabelHistogram>(described());
}

}  // namespace muster
