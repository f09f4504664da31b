// What the keys of an attack are where a recipe does not set them.
#pragma once

#include "solver/attack.h"

namespace muster {

// The options with the kind's own value of every key that is not set and has one: what the attacks go by.
[[nodiscard]] AttackOptions with_defaults(AttackOptions options);

}  // namespace muster
