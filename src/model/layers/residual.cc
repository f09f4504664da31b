#include "model/layers/residual.h"

#include "base/check.h"
#include "model/layers/channels.h"
#include "model/layers/padded_shortcut.h"

namespace muster {
namespace {

class Residual : public Layer {
 public:
  Residual(std::string name, Shape input, const ResidualOptions& options) : Layer(std::move(name)), input_(input) {
    ConvOptions first{.channels = options.channels,
                      .kernel = {3, 3},
                      .stride = options.stride,
                      .padding = same_padding({3, 3}),
                      .bias = options.bias,
                      .norm = options.norm,
                      .groups = options.groups};
    ConvOptions second = first;
    second.stride = 1;
    const Shape middle = conv_output(input, first);
    identity_ = middle == input;
    projected_ = !identity_ && options.shortcut == Shortcut::kProjected;
    // First in the order of parameters, because its backward pass must come last: it adds to the input's gradient.
    if (projected_) {
      ConvOptions projection = first;
      projection.kernel = {1, 1};
      projection.padding = {};
      projection.bias = false;
      projection.relu = false;
      units_.push(make_conv(this->name() + ".shortcut", input, projection));
    } else {
      MUSTER_CHECK(middle.channels >= input.channels, "{}: {} channels after {}", this->name(), middle.channels,
                   input.channels);
      padded_ = {input, middle, options.stride};
    }
    units_.push(make_conv(this->name() + ".conv1", input, first));
    units_.push(make_conv(this->name() + ".conv2", middle, second));
  }

  Shape output() const override { return units_.layers().back()->output(); }
  std::vector<TensorSpec> tensors() const override { return units_.tensors(); }
  std::size_t packed_size() const override { return units_.packed_size(); }
  void pack(const float* flat, float* packed) const override { units_.pack(flat, packed); }
  void unpack(const float* packed, float* flat) const override { units_.unpack(packed, flat); }
  std::uint64_t forward_macs() const override { return units_.forward_macs(); }
  Request request(std::uint32_t) const override { return {Format::kChannels, 1}; }

  Activation compile(Compiler& compiler, const Activation& in, const Request& want) const override {
    MUSTER_CHECK(in.pixel_stride % kPad == 0, "{} cannot be the first layer", name());
    const auto units = units_.layers();
    const Layer& second = *units[units.size() - 1];
    const Layer& first = *units[units.size() - 2];
    const std::size_t batch = compiler.batch();
    const Delivery delivery = make_delivery(compiler, output(), want);
    const Activation& out = delivery.inside;
    const Request inside{Format::kChannels, out.halo};

    ConvTies of_first;
    ConvTies of_second;
    of_second.output = out;
    const PaddedShortcut shortcut = padded_;
    if (projected_) {
      ConvTies of_projection;
      of_projection.slope = out;
      of_projection.accumulate = true;
      of_second.summand = compiler.add(*tie(*units[0], of_projection), in, {Format::kChannels, 0});
    } else if (identity_) {
      of_second.summand = in;
      of_first.skip = out;
    } else {
      const Activation sum = compiler.activation(Format::kChannels, output(), 0, false);
      of_second.summand = sum;
      compiler.forward(Call([=](const Pass&) { shortcut.forward(in, sum, batch); }));
    }
    const Activation between = compiler.add(*tie(first, of_first), in, second.request(compiler.batch()));
    compiler.add(*tie(second, of_second), between, inside);
    if (!projected_ && !identity_ && in.gradient) {
      compiler.backward(Call([=](const Pass&) { shortcut.backward(in, out, batch); }));
    }
    copy_forward(compiler, delivery);
    copy_backward_first(compiler, delivery);
    return delivery.result;
  }

 private:
  Shape input_;
  bool identity_ = false;
  bool projected_ = false;
  PaddedShortcut padded_;
  Sequence units_;
};

}  // namespace

std::unique_ptr<Layer> make_residual(std::string name, Shape input, const ResidualOptions& options) {
  return std::make_unique<Residual>(std::move(name), input, options);
}

}  // namespace muster
