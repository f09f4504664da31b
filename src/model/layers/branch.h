// The residual of any layers: y = branch(x) + shortcut(x). The usual block of two 3 x 3 convolutions is in residual.h.
#pragma once

#include <memory>
#include <string>

#include "model/layer.h"
#include "model/layer_spec.h"

namespace muster {

struct BranchOptions {
  Sequence branch;  // its first layer reads channels
  Shortcut shortcut = Shortcut::kIdentity;
  std::uint32_t stride = 1;             // of a shortcut that is not the identity
  std::unique_ptr<Layer> projection{};  // kProjected: a convolution unit without ReLU
};

// Precondition: the shortcut turns `input` into the branch's output shape.
[[nodiscard]] std::unique_ptr<Layer> make_branch(std::string name, Shape input, BranchOptions options);

}  // namespace muster
