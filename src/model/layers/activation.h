// ReLU, tanh and GELU as layers of their own. A ReLU right after a convolution or between dense layers belongs to them.
#pragma once

#include <memory>
#include <string>

#include "model/kernels/activation_kernels.h"
#include "model/layer.h"

namespace muster {

// `rows`: see values.h.
[[nodiscard]] std::unique_ptr<Layer> make_activation(std::string name, Shape shape, Curve curve, bool rows);

}  // namespace muster
