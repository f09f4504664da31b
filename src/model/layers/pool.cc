#include "model/layers/pool.h"

#include "base/check.h"
#include "model/layers/channels.h"

namespace muster {
namespace {

class Pooling : public Layer {
 public:
  Pooling(std::string name, Shape input, Pool pool, Extent window, Extent stride)
      : Layer(std::move(name)), pool_(pool), output_(pool_output(input, window, stride)) {
    MUSTER_CHECK(output_.size() > 0 && (pool == Pool::kMean || window.height * window.width <= 255),
                 "{}: a window of {} x {} on {} x {}", this->name(), window.height, window.width, input.height,
                 input.width);
    shape_.in = plane_shape(input);
    shape_.out_height = static_cast<int>(output_.height);
    shape_.out_width = static_cast<int>(output_.width);
    shape_.kernel_height = static_cast<int>(window.height);
    shape_.kernel_width = static_cast<int>(window.width);
    shape_.stride_height = static_cast<int>(stride.height);
    shape_.stride_width = static_cast<int>(stride.width);
  }

  Shape output() const override { return output_; }
  Request request(std::uint32_t) const override { return {Format::kChannels, 0}; }

  Activation compile(Compiler& compiler, const Activation& in, const Request& want) const override {
    MUSTER_CHECK(in.pixel_stride % kPad == 0, "{} cannot be the first layer", name());
    const Delivery delivery = make_delivery(compiler, output_, want);
    const PlaneKernels* kernels = &plane_kernels();
    const PoolShape shape = shape_;
    const std::size_t batch = compiler.batch();
    const Images x = images(in, in.data);
    const Images dx = images(in, in.gradient);
    const Images y = images(delivery.inside, delivery.inside.data);
    const Images dy = images(delivery.inside, delivery.inside.gradient);
    if (pool_ == Pool::kMean) {
      const float share = 1.0f / static_cast<float>(shape.kernel_height * shape.kernel_width);
      compiler.forward(Call([=](const Pass&) {
        for (std::size_t n = 0; n < batch; ++n) kernels->sum_pool(shape, plane(x, n), share, plane(y, n));
      }));
      compiler.backward(Call([=](const Pass&) {
        if (!dx.data) return;
        for (std::size_t n = 0; n < batch; ++n) kernels->sum_pool_backward(shape, plane(dy, n), share, plane(dx, n));
      }));
    } else {
      const std::size_t choices = output_.height * output_.width * padded(output_.channels);
      auto* choice = reinterpret_cast<std::uint8_t*>(compiler.floats(compiler.max_batch() * choices / sizeof(float)));
      compiler.forward(Call([=](const Pass&) {
        for (std::size_t n = 0; n < batch; ++n) {
          kernels->max_pool(shape, plane(x, n), false, plane(y, n), choice + n * choices);
        }
      }));
      compiler.backward(Call([=](const Pass&) {
        if (!dx.data) return;
        for (std::size_t n = 0; n < batch; ++n) {
          kernels->max_pool_backward(shape, plane(dy, n), choice + n * choices, plane(dx, n));
        }
      }));
    }
    copy_forward(compiler, delivery);
    copy_backward_first(compiler, delivery);
    return delivery.result;
  }

 private:
  Pool pool_;
  Shape output_;
  PoolShape shape_;
};

}  // namespace

Shape pool_output(Shape input, Extent window, Extent stride) {
  if (input.height < window.height || input.width < window.width) return {0, 0, input.channels};
  return {(input.height - window.height) / stride.height + 1, (input.width - window.width) / stride.width + 1,
          input.channels};
}

std::unique_ptr<Layer> make_pool(std::string name, Shape input, Pool pool, Extent window, Extent stride) {
  return std::make_unique<Pooling>(std::move(name), input, pool, window, stride);
}

}  // namespace muster
