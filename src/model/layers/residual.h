// The residual block of two 3 x 3 convolutions with normalisation:
//   y = relu(norm(conv(relu(norm(conv(x))))) + shortcut(x)),
// the first convolution with the block's stride.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "model/layers/conv.h"

namespace muster {

struct ResidualOptions {
  std::uint32_t channels = 16;
  std::uint32_t stride = 1;
  Norm norm = Norm::kBatch;
  std::uint32_t groups = 2;
  bool bias = false;  // of the 3 x 3 convolutions
  Shortcut shortcut = Shortcut::kPadded;
};

// Precondition: input not empty; with a padded shortcut the channels do not shrink.
[[nodiscard]] std::unique_ptr<Layer> make_residual(std::string name, Shape input, const ResidualOptions& options);

}  // namespace muster
