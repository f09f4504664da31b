#include "model/layers/channels.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"

namespace muster {
namespace {

bool copies(const Delivery& delivery) {
  return delivery.inside.data != delivery.result.data;
}

template <typename Move>
void each_pixel(const Activation& inside, const Activation& rows, std::size_t batch, const Move& move) {
  const Shape shape = inside.shape;
  for (std::size_t n = 0; n < batch; ++n) {
    for (std::size_t y = 0; y < shape.height; ++y) {
      for (std::size_t x = 0; x < shape.width; ++x) {
        move(n * inside.sample_stride + y * inside.row_stride + x * inside.pixel_stride,
             n * rows.sample_stride + (y * shape.width + x) * shape.channels);
      }
    }
  }
}

}  // namespace

Activation as_wanted(Activation rows, const Request& want) {
  MUSTER_CHECK(want.format != Format::kLanes && want.halo == 0, "a single pixel is delivered as it is");
  rows.format = want.format;
  if (want.format == Format::kChannels) rows.pixel_stride = rows.row_stride = rows.sample_stride;
  return rows;
}

Delivery make_delivery(Compiler& compiler, Shape shape, const Request& want, std::uint32_t halo) {
  MUSTER_CHECK(want.format != Format::kLanes, "channels asked for lanes");
  if (want.format == Format::kChannels) {
    const Activation tensor = compiler.activation(Format::kChannels, shape, std::max(halo, want.halo));
    return {tensor, tensor};
  }
  Delivery delivery;
  delivery.result = compiler.activation(Format::kRows, shape);
  const bool single = shape.height == 1 && shape.width == 1;
  if ((shape.channels % kPad == 0 || single) && halo == 0) {
    delivery.inside = delivery.result;
    delivery.inside.format = Format::kChannels;
    delivery.inside.pixel_stride = padded(shape.channels);
    delivery.inside.row_stride = shape.width * delivery.inside.pixel_stride;
    return delivery;
  }
  delivery.inside = compiler.activation(Format::kChannels, shape, halo);
  return delivery;
}

void copy_backward_first(Compiler& compiler, const Delivery& delivery) {
  if (!copies(delivery)) return;
  const std::size_t batch = compiler.batch();
  compiler.backward_first(Call([delivery, batch](const Pass&) {
    const std::size_t bytes = delivery.inside.shape.channels * sizeof(float);
    each_pixel(delivery.inside, delivery.result, batch, [&](std::size_t pixel, std::size_t feature) {
      std::memcpy(delivery.inside.gradient + pixel, delivery.result.gradient + feature, bytes);
    });
  }));
}

void copy_forward(Compiler& compiler, const Delivery& delivery) {
  if (!copies(delivery)) return;
  const std::size_t batch = compiler.batch();
  compiler.forward(Call([delivery, batch](const Pass&) {
    const std::size_t bytes = delivery.inside.shape.channels * sizeof(float);
    each_pixel(delivery.inside, delivery.result, batch, [&](std::size_t pixel, std::size_t feature) {
      std::memcpy(delivery.result.data + feature, delivery.inside.data + pixel, bytes);
    });
  }));
}

}  // namespace muster
