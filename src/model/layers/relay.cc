#include "model/layers/relay.h"

#include <cstring>

#include "base/check.h"

namespace muster {
namespace {

// Distance between pixels and rows of pixels, also where features lie without padding.
struct Steps {
  std::size_t sample = 0;
  std::size_t row = 0;
  std::size_t pixel = 0;
};

Steps steps(const Activation& tensor) {
  if (tensor.format == Format::kChannels) return {tensor.sample_stride, tensor.row_stride, tensor.pixel_stride};
  const std::size_t channels = tensor.shape.channels;
  return {tensor.sample_stride, tensor.shape.width * channels, channels};
}

void copy(Shape shape, std::size_t batch, const float* from, Steps a, float* to, Steps b) {
  for (std::size_t n = 0; n < batch; ++n) {
    for (std::size_t y = 0; y < shape.height; ++y) {
      for (std::size_t x = 0; x < shape.width; ++x) {
        std::memcpy(to + n * b.sample + y * b.row + x * b.pixel, from + n * a.sample + y * a.row + x * a.pixel,
                    shape.channels * sizeof(float));
      }
    }
  }
}

class Relay : public Layer {
 public:
  Relay(std::string name, Shape shape) : Layer(std::move(name)), shape_(shape) {}

  Shape output() const override { return shape_; }
  Request request(std::uint32_t) const override { return {Format::kChannels, 0}; }

  Activation compile(Compiler& compiler, const Activation& in, const Request& want) const override {
    MUSTER_CHECK(want.format != Format::kLanes && in.format == Format::kChannels, "{} is for channels and rows",
                 name());
    const Activation out = compiler.activation(want.format, shape_, want.halo, in.gradient != nullptr);
    const Shape shape = shape_;
    const std::size_t batch = compiler.batch();
    compiler.forward(Call([=](const Pass&) { copy(shape, batch, in.data, steps(in), out.data, steps(out)); }));
    compiler.backward(Call([=](const Pass&) {
      if (in.gradient) copy(shape, batch, out.gradient, steps(out), in.gradient, steps(in));
    }));
    return out;
  }

 private:
  Shape shape_;
};

}  // namespace

std::unique_ptr<Layer> make_relay(std::string name, Shape shape) {
  return std::make_unique<Relay>(std::move(name), shape);
}

}  // namespace muster
