// What the keys of a profile are where a recipe does not set them.
#pragma once

#include "profile/profile.h"

namespace muster {

// The options with the kind's own value of every key that is not set and has one: what make_profile_kind() goes by.
[[nodiscard]] ProfileOptions with_defaults(ProfileOptions options);

}  // namespace muster
