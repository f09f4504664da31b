// The convolution unit: convolution, then as asked normalisation, a summand, ReLU and max-pooling. One layer, because
// done image by image the large maps between these steps stay in the cache, and before pooling need not be kept at all.
// Sequences are images of height 1.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "model/layer.h"
#include "model/layer_spec.h"

namespace muster {

enum class Norm { kNone, kBatch, kGroup };

// What keeps the size of the image at stride 1; for even kernels the larger half is at the bottom and right.
[[nodiscard]] Padding same_padding(Extent kernel);

// Which batches put samples in the vector lanes: for units in a row before dense layers, all with the same choice and
// kernel, without normalisation, stride and padding.
enum class Lanes {
  kNever,
  kFilled,  // those that leave few lanes empty, where pairs of pixels save products
  kOften,   // those of 8 and more: for channels that would themselves leave lanes empty
};

struct ConvOptions {
  std::uint32_t channels = 1;  // out
  Extent kernel{};
  std::uint32_t stride = 1;
  Padding padding{};  // smaller than the kernel
  bool bias = true;
  Norm norm = Norm::kNone;   // batch: running statistics with momentum 0.1
  std::uint32_t groups = 2;  // group normalisation; divides the channels
  bool relu = true;
  Extent pool{};  // max-pooling, window = stride; at most 255 pixels
  Lanes lanes = Lanes::kNever;
};

// The size of the image after convolution and pooling; zero extents if it would be empty.
[[nodiscard]] Shape conv_output(Shape input, const ConvOptions& options);

// Precondition: conv_output() is not empty.
[[nodiscard]] std::unique_ptr<Layer> make_conv(std::string name, Shape input, const ConvOptions& options);

// How a residual block ties a unit into its sum.
struct ConvTies {
  // Where to put the output. Data null: the unit allocates it.
  Activation output;
  // Added before the ReLU: kChannels, in the unit's output shape. Data null: none.
  Activation summand;
  // Whose gradient is the gradient of the output, if not the output itself: a kChannels tensor of the same shape. Data
  // null: none.
  Activation slope;
  // Its gradient is added to that of the input, which has the same shape: kChannels. Gradient null: none.
  Activation skip;
  // Add to the gradient of the input instead of overwriting it.
  bool accumulate = false;
};

// A unit made by make_conv, compiled with ties; takes the place of the unit itself in Compiler::add.
// Precondition: the unit does not use lanes. `unit` and `ties` must outlive the returned layer.
[[nodiscard]] std::unique_ptr<Layer> tie(const Layer& unit, const ConvTies& ties);

}  // namespace muster
