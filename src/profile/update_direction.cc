// update-direction: how a client changes the run's first model in a few steps of training. Directions can be compared
// only if all clients start from the same model, also those that are asked later.
#include "profile/kinds.h"

namespace muster {
namespace {

const ProfileEntry& described() {
  static const ProfileEntry entry{
      .name = "update-direction",
      .summary = "how the start model changes in some steps of training",
      .keys = {"steps", "epochs"},
      .bytes = "4 per parameter down and up",
      .reveals = "an update of the whole model, from which samples can in part be reconstructed",
      .gives = ProfileGives::kVectors,
      .trains = true,
      .usual_work = {.steps = 50},  // FedGroup's pre-training
      .observable = true};
  return entry;
}

class UpdateDirection final : public ProfileKind {
 public:
  explicit UpdateDirection(const ProfileOptions& options) : work_(work_of(options, described().usual_work)) {}

  const ProfileEntry& entry() const override { return described(); }
  Result<std::size_t> width(const Network& network, std::uint32_t) const override { return network.parameters(); }
  bool directs_start() const override { return true; }

  // Running statistics, at the end of the flat vectors, have no direction.
  std::vector<float> observe(const Network& network, std::span<const float> start,
                             std::span<const float> sent) const override {
    std::vector<float> change(network.parameters());
    for (std::size_t i = 0; i < change.size(); ++i) change[i] = sent[i] - start[i];
    return change;
  }

 private:
  Result<ProfileReply> do_tell(const ProfileTask& task, ProfileSubject& subject) const override {
    return train_and_observe(*this, work_, task, subject);
  }

  ProfileWork work_;
};

}  // namespace

ListedProfileKind list_update_direction() {
  return listed<UpdateDirection>(described());
}

}  // namespace muster
