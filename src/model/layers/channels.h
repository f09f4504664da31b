// Views of activations in the channels format for the kernels, and the way from that format to dense rows.
#pragma once

#include "model/kernels/conv_kernels.h"
#include "model/kernels/plane_kernels.h"
#include "model/layer.h"

namespace muster {

inline Images images(const Activation& tensor, float* data) {
  return {data, tensor.sample_stride, tensor.row_stride, tensor.pixel_stride};
}
inline Plane plane(const Images& tensor, std::size_t sample) {
  return {tensor.data + sample * tensor.sample, tensor.row, tensor.pixel, kPad};
}
inline PlaneShape plane_shape(Shape shape) {
  return {static_cast<int>(padded(shape.channels) / kPad), static_cast<int>(shape.height),
          static_cast<int>(shape.width)};
}

// A tensor of a single pixel per sample, made as rows, in the format that the next layer wants: both lie alike.
// Precondition: no halo is wanted.
[[nodiscard]] Activation as_wanted(Activation rows, const Request& want);

// What a layer computing in the channels format writes (`inside`) and what it hands on (`result`). When rows are wanted
// and pixels need no padding both are the same memory; else rows are copied.
struct Delivery {
  Activation inside;
  Activation result;
};

// `halo` is what the layer itself wants around its output.
[[nodiscard]] Delivery make_delivery(Compiler& compiler, Shape shape, const Request& want, std::uint32_t halo = 0);
// Appends the forward copy, if one is needed: call after the layer's own forward calls.
void copy_forward(Compiler& compiler, const Delivery& delivery);
// Puts the backward copy, if one is needed, before what the backward list of the layer holds already.
void copy_backward_first(Compiler& compiler, const Delivery& delivery);

}  // namespace muster
