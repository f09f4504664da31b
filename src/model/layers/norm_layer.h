// Normalisation as a layer of its own. Batch and group normalisation right after a convolution belong to its unit.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "model/layers/conv.h"

namespace muster {

// Precondition: norm is not kNone; `groups` divides the channels.
[[nodiscard]] std::unique_ptr<Layer> make_norm(std::string name, Shape shape, Norm norm, std::uint32_t groups = 1);

// Each pixel over its channels, which are two or more.
[[nodiscard]] std::unique_ptr<Layer> make_layer_norm(std::string name, Shape shape);

}  // namespace muster
