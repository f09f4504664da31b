#include "model/layers/dropout.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "base/random.h"
#include "model/kernels/activation_kernels.h"
#include "model/layers/values.h"

namespace muster {
namespace {

// Draws the factors of one sample in the order of its features, whatever the format: `runs` runs of `length` factors,
// each run padded.
struct Draw {
  std::uint64_t threshold = 0;  // of 2^32: below it a value is dropped
  float kept = 1;
  std::uint32_t number = 0;
  std::size_t runs = 1;
  std::size_t length = 1;

  void fill(const Pass& pass, std::size_t sample, float* mask) const {
    Stream stream({.seed = pass.noise_seed,
                   .purpose = Purpose::kDropout,
                   .round = pass.noise_step,
                   .id = number,
                   .part = pass.first_sample + static_cast<std::uint32_t>(sample)});
    for (std::size_t run = 0; run < runs; ++run, mask += padded(length)) {
      for (std::size_t i = 0; i < length; ++i) mask[i] = stream.next() < threshold ? 0.0f : kept;
    }
  }
};

class Dropout : public Layer {
 public:
  Dropout(std::string name, Shape shape, double drop, std::uint32_t number, bool rows)
      : Layer(std::move(name)), shape_(shape), rows_(rows) {
    MUSTER_CHECK(drop >= 0 && drop < 1, "{}: probability {}", this->name(), drop);
    draw_.threshold = static_cast<std::uint64_t>(std::llround(drop * 0x1.0p32));
    draw_.kept = static_cast<float>(1 / (1 - drop));
    draw_.number = number;
    draw_.runs = rows ? 1 : std::size_t{shape.height} * shape.width;
    draw_.length = rows ? shape.size() : shape.channels;
  }

  Shape output() const override { return shape_; }
  Request request(std::uint32_t) const override { return value_request(rows_); }

  Activation compile(Compiler& compiler, const Activation& in, const Request& want) const override {
    const Delivery delivery = make_value_delivery(compiler, shape_, want, rows_);
    const ActivationKernels* kernels = &activation_kernels();
    const PlaneKernels* planes = &plane_kernels();
    const Values x = values(in, rows_);
    const Values y = values(delivery.inside, rows_);
    const Draw draw = draw_;
    const std::size_t batch = compiler.batch();
    const std::size_t size = draw.runs * padded(draw.length);
    float* mask = compiler.floats(compiler.max_batch() * size);
    compiler.forward_train(Call([=](const Pass& pass) {
      for (std::size_t n = 0; n < batch; ++n) {
        float* factors = mask + n * size;
        if (pass.noise) {
          draw.fill(pass, n, factors);
        } else {
          std::fill(factors, factors + size, 1.0f);
        }
        kernels->multiply(x.shape, x.data(n), factors, y.data(n));
      }
    }));
    compiler.forward_evaluate(Call([=](const Pass&) {
      for (std::size_t n = 0; n < batch; ++n) planes->copy(x.shape, x.data(n), y.data(n));
    }));
    compiler.backward(Call([=](const Pass&) {
      if (!x.gradients) return;
      for (std::size_t n = 0; n < batch; ++n) {
        kernels->multiply(x.shape, y.gradient(n), mask + n * size, x.gradient(n));
      }
    }));
    copy_forward(compiler, delivery);
    copy_backward_first(compiler, delivery);
    return delivery.result;
  }

 private:
  Shape shape_;
  Draw draw_;
  bool rows_;
};

}  // namespace

std::unique_ptr<Layer> make_dropout(std::string name, Shape shape, double drop, std::uint32_t number, bool rows) {
  return std::make_unique<Dropout>(std::move(name), shape, drop, number, rows);
}

}  // namespace muster
