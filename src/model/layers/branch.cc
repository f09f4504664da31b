#include "model/layers/branch.h"

#include <utility>

#include "base/check.h"
#include "model/layers/conv.h"
#include "model/layers/padded_shortcut.h"
#include "model/layers/values.h"

namespace muster {
namespace {

class Branch : public Layer {
 public:
  Branch(std::string name, Shape input, BranchOptions options)
      : Layer(std::move(name)),
        input_(input),
        shortcut_(options.shortcut),
        stride_(options.stride),
        branch_(std::move(options.branch)) {
    MUSTER_CHECK(!branch_.empty() && (shortcut_ == Shortcut::kProjected) == (options.projection != nullptr),
                 "{}: a branch and its shortcut", this->name());
    // First in the order of parameters, because its backward pass must come last: it adds to the input's gradient.
    if (options.projection) projection_.push(std::move(options.projection));
  }

  Shape output() const override { return branch_.layers().back()->output(); }
  std::vector<TensorSpec> tensors() const override {
    std::vector<TensorSpec> all;
    for (const bool trained : {true, false}) {
      for (const Sequence* part : {&projection_, &branch_}) {
        for (TensorSpec& tensor : part->tensors()) {
          if (tensor.trained() == trained) all.push_back(std::move(tensor));
        }
      }
    }
    return all;
  }
  std::size_t packed_size() const override { return projection_.packed_size() + branch_.packed_size(); }
  void pack(const float* flat, float* packed) const override {
    projection_.pack(flat, packed);
    branch_.pack(flat + projection_.trained_size(), packed + projection_.packed_size());
  }
  void unpack(const float* packed, float* flat) const override {
    projection_.unpack(packed, flat);
    branch_.unpack(packed + projection_.packed_size(), flat + projection_.trained_size());
  }
  std::uint64_t forward_macs() const override { return projection_.forward_macs() + branch_.forward_macs(); }
  Request request(std::uint32_t batch) const override { return branch_.request(batch); }

  Activation compile(Compiler& compiler, const Activation& in, const Request& want) const override {
    MUSTER_CHECK(in.format == Format::kChannels && in.pixel_stride % kPad == 0, "{} reads padded channels", name());
    const std::size_t batch = compiler.batch();
    const PlaneKernels* kernels = &plane_kernels();
    const Delivery delivery = make_delivery(compiler, output(), want);
    const Activation out = delivery.inside;
    const PaddedShortcut padding{input_, output(), stride_};

    Activation summand = in;
    if (shortcut_ == Shortcut::kProjected) {
      ConvTies ties;
      ties.slope = out;
      ties.accumulate = true;
      summand = compiler.add(*tie(*projection_.layers().front(), ties), in, {Format::kChannels, 0});
    } else if (shortcut_ == Shortcut::kPadded) {
      summand = compiler.activation(Format::kChannels, output(), 0, false);
      compiler.forward(Call([=](const Pass&) { padding.forward(in, summand, batch); }));
    }
    const Activation made = branch_.compile(compiler, in, {Format::kChannels, 0});

    const Values y = values(out, false);
    const Values a = values(made, false);
    const Values b = values(summand, false);
    compiler.forward(Call([=](const Pass&) {
      for (std::size_t n = 0; n < batch; ++n) {
        kernels->copy(y.shape, a.data(n), y.data(n));
        kernels->add(y.shape, b.data(n), y.data(n));
      }
    }));
    compiler.backward_first(Call([=](const Pass&) {
      for (std::size_t n = 0; n < batch; ++n) kernels->copy(y.shape, y.gradient(n), a.gradient(n));
    }));
    if (in.gradient && shortcut_ == Shortcut::kIdentity) {
      compiler.backward(Call([=](const Pass&) {
        for (std::size_t n = 0; n < batch; ++n) kernels->add(y.shape, y.gradient(n), b.gradient(n));
      }));
    } else if (in.gradient && shortcut_ == Shortcut::kPadded) {
      compiler.backward(Call([=](const Pass&) { padding.backward(in, out, batch); }));
    }
    copy_forward(compiler, delivery);
    copy_backward_first(compiler, delivery);
    return delivery.result;
  }

 private:
  Shape input_;
  Shortcut shortcut_;
  std::uint32_t stride_;
  Sequence projection_;
  Sequence branch_;
};

}  // namespace

std::unique_ptr<Layer> make_branch(std::string name, Shape input, BranchOptions options) {
  return std::make_unique<Branch>(std::move(name), input, std::move(options));
}

}  // namespace muster
