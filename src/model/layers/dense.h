// A fully connected layer, optionally followed by ReLU.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "model/layer.h"

namespace muster {

[[nodiscard]] std::unique_ptr<Layer> make_dense(std::string name, Shape input, std::uint32_t outputs, bool relu);

}  // namespace muster
