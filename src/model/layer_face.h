// LayerFace: a layer as others see it, fitted to the data: what it computes, on which shapes, and which tensors of the
// flat vector are its own. Enough to print a network, or to write it down for another program.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "data/samples.h"
#include "model/layer_spec.h"

namespace muster {

struct LayerFace {
  LayerSpec spec;      // kernel, stride and padding in full
  std::string name{};  // with which the names of its tensors begin; empty: it has none
  Shape input{};
  Shape output{};
  std::size_t parameters = 0;          // trained, with those of the layers inside
  std::vector<std::string> tensors{};  // full names, trained ones first; not those of the layers inside
  // Residual: output = branch + shortcut. `projection` is the shortcut kProjected, a convolution and, where the branch
  // ends with one, a normalisation of the same kind; its tensors come before those of `inside`.
  std::vector<LayerFace> inside{};
  Shortcut shortcut = Shortcut::kIdentity;
  std::uint32_t shortcut_stride = 1;
  std::vector<LayerFace> projection{};
};

// "28 x 28 x 1"; a vector is "128", a sequence "80 x 8".
[[nodiscard]] std::string describe_shape(Shape shape);

// A table with a line per layer: its words, the shape of its output, its parameters.
[[nodiscard]] std::string describe_layers(Shape input, std::span<const LayerFace> layers);

}  // namespace muster
