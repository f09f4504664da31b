// losses: how well each of several models fits a client. A loss that is not finite is told as it is: the model, not the
// client, is at fault.
#include "profile/kinds.h"

namespace muster {
namespace {

const ProfileEntry& described() {
  static const ProfileEntry entry{.name = "losses",
                                  .summary = "the mean loss of each given model on the client's training samples",
                                  .keys = {},
                                  .bytes = "4 per parameter of each model down, 4 per model up",
                                  .reveals = "how well each model fits the client's samples",
                                  .gives = ProfileGives::kLosses};
  return entry;
}

class Losses final : public ProfileKind {
 public:
  explicit Losses(const ProfileOptions&) {}

  const ProfileEntry& entry() const override { return described(); }
  Result<std::size_t> width(const Network&, std::uint32_t models) const override { return std::size_t{models}; }

 private:
  Result<ProfileReply> do_tell(const ProfileTask& task, ProfileSubject& subject) const override {
    ClientProfile profile{.samples_evaluated = std::uint64_t{task.models.count()} * subject.samples()};
    MUSTER_ASSIGN(const std::vector<double> losses, subject.mean_losses(task.models));
    for (const double loss : losses) profile.vector.push_back(static_cast<float>(loss));
    return ProfileReply{std::move(profile)};
  }
};

}  // namespace

const ProfileKind& losses_profile() {
  static const Losses losses({});
  return losses;
}

ListedProfileKind list_losses() {
  return listed<Losses>(described());
}

}  // namespace muster
