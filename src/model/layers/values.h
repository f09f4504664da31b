// Views of activations for layers that treat every value alike, which need not know images from rows: a sample is a
// plane of pixels, or as rows one pixel with all features as its channels.
#pragma once

#include "model/layers/channels.h"

namespace muster {

// How such a layer asks for its input. `rows` is for what only feeds dense layers.
[[nodiscard]] inline Request value_request(bool rows) {
  return {rows ? Format::kRows : Format::kChannels, 0};
}

struct Values {
  PlaneShape shape;
  Images datas;
  float* gradients = nullptr;  // null: nobody needs them

  [[nodiscard]] Plane data(std::size_t sample) const { return plane(datas, sample); }
  [[nodiscard]] Plane gradient(std::size_t sample) const {
    Images tensor = datas;
    tensor.data = gradients;
    return plane(tensor, sample);
  }
};

[[nodiscard]] inline Values values(const Activation& tensor, bool rows) {
  const Shape row{1, 1, static_cast<std::uint32_t>(tensor.shape.size())};
  Values view{plane_shape(rows ? row : tensor.shape), images(tensor, tensor.data), tensor.gradient};
  if (rows) view.datas.row = view.datas.pixel = tensor.sample_stride;
  return view;
}

// Rows come from rows alone, channels as in make_delivery.
[[nodiscard]] inline Delivery make_value_delivery(Compiler& compiler, Shape shape, const Request& want, bool rows) {
  if (!rows) return make_delivery(compiler, shape, want);
  const Activation tensor = compiler.activation(Format::kRows, shape);
  return {tensor, tensor};
}

}  // namespace muster
