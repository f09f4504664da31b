// A fully connected layer, optionally followed by ReLU.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "model/kernels/dense_kernels.h"
#include "model/layer.h"

namespace muster {

[[nodiscard]] std::unique_ptr<Layer> make_dense(std::string name, Shape input, std::uint32_t outputs, bool relu);

// The matrix with which a dense layer's packed parameters begin, the bias following; null for any other layer.
[[nodiscard]] const DenseShape* dense_matrix(const Layer& layer);

}  // namespace muster
