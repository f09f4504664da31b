// The built-in kinds of profile, one per file: what the catalogue says of each, and how it is made.
#pragma once

#include "profile/profile.h"

namespace muster {

struct ListedProfileKind {
  ProfileEntry entry;
  ProfileFactory make;  // the options have been checked
};

[[nodiscard]] ListedProfileKind list_none();
[[nodiscard]] ListedProfileKind list_label_histogram();
[[nodiscard]] ListedProfileKind list_update_direction();
[[nodiscard]] ListedProfileKind list_classifier_weights();
[[nodiscard]] ListedProfileKind list_confidence_vector();
[[nodiscard]] ListedProfileKind list_losses();

// The entry, and a factory of a Kind that is made from its options alone.
template <typename Kind>
[[nodiscard]] ListedProfileKind listed(const ProfileEntry& entry) {
  return {entry, [](const ProfileOptions& options) -> Result<std::unique_ptr<ProfileKind>> {
            return std::unique_ptr<ProfileKind>(std::make_unique<Kind>(options));
          }};
}

// How long the options have a client train; `usual` if they do not say.
[[nodiscard]] ProfileWork work_of(const ProfileOptions& options, const ProfileWork& usual);
// What an observable kind that trains tells: what would be read off a round in which the client trained so.
[[nodiscard]] Result<ProfileReply> train_and_observe(const ProfileKind& kind, const ProfileWork& work,
                                                     const ProfileTask& task, ProfileSubject& subject);

}  // namespace muster
