// none: clients tell nothing.
#include "profile/kinds.h"

namespace muster {
namespace {

const ProfileEntry& described() {
  static const ProfileEntry entry{.name = "none",
                                  .summary = "clients tell nothing",
                                  .keys = {},
                                  .bytes = "0",
                                  .reveals = "nothing",
                                  .gives = ProfileGives::kNothing};
  return entry;
}

class NoProfile final : public ProfileKind {
 public:
  explicit NoProfile(const ProfileOptions&) {}

  const ProfileEntry& entry() const override { return described(); }

 private:
  Result<ProfileReply> do_tell(const ProfileTask&, ProfileSubject&) const override {
    return ProfileReply{ClientProfile{}};
  }
};

}  // namespace

ListedProfileKind list_none() {
  return listed<NoProfile>(described());
}

}  // namespace muster
