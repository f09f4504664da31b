// What the keys of a network are where a recipe does not set them.
#pragma once

#include "model/network.h"

namespace muster {

// The options with the network's own value of every key that is not set and has one: what make_network() goes by.
[[nodiscard]] ModelOptions with_defaults(ModelOptions options);

}  // namespace muster
