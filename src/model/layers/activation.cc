#include "model/layers/activation.h"

#include "model/layers/values.h"

namespace muster {
namespace {

class ActivationLayer : public Layer {
 public:
  ActivationLayer(std::string name, Shape shape, Curve curve, bool rows)
      : Layer(std::move(name)), shape_(shape), curve_(curve), rows_(rows) {}

  Shape output() const override { return shape_; }
  Request request(std::uint32_t) const override { return value_request(rows_); }

  Activation compile(Compiler& compiler, const Activation& in, const Request& want) const override {
    const Delivery delivery = make_value_delivery(compiler, shape_, want, rows_);
    const ActivationKernels* kernels = &activation_kernels();
    const Values x = values(in, rows_);
    const Values y = values(delivery.inside, rows_);
    const Curve curve = curve_;
    const std::size_t batch = compiler.batch();
    compiler.forward(Call([=](const Pass&) {
      for (std::size_t n = 0; n < batch; ++n) kernels->forward(curve, x.shape, x.data(n), y.data(n));
    }));
    compiler.backward(Call([=](const Pass&) {
      if (!x.gradients) return;
      for (std::size_t n = 0; n < batch; ++n) {
        kernels->backward(curve, x.shape, x.data(n), y.data(n), y.gradient(n), x.gradient(n));
      }
    }));
    copy_forward(compiler, delivery);
    copy_backward_first(compiler, delivery);
    return delivery.result;
  }

 private:
  Shape shape_;
  Curve curve_;
  bool rows_;
};

}  // namespace

std::unique_ptr<Layer> make_activation(std::string name, Shape shape, Curve curve, bool rows) {
  return std::make_unique<ActivationLayer>(std::move(name), shape, curve, rows);
}

}  // namespace muster
