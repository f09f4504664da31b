// Hands values on in another format: the network's input to layers that want padded images, and what dense and
// recurrent layers deliver to layers that want a halo or flat rows. Computes nothing.
#pragma once

#include <memory>
#include <string>

#include "model/layer.h"

namespace muster {

[[nodiscard]] std::unique_ptr<Layer> make_relay(std::string name, Shape shape);

}  // namespace muster
