#include "model/layers/dense.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "model/kernels/dense_kernels.h"
#include "model/layers/channels.h"

namespace muster {
namespace {

// Matrices up to this size stay whole; of larger ones a block of about half this size is worked on at a time, so that
// it is still in the L2 cache when the backward pass comes to update it.
constexpr std::size_t kWholeFloats = 128 * 1024;

DenseShape dense_shape(std::uint32_t in, std::uint32_t out) {
  DenseShape shape{.in = in, .out = out, .out_padded = static_cast<std::uint32_t>(padded(out)), .block = in};
  if (shape.packed() > kWholeFloats) {
    const std::size_t block = std::max<std::size_t>(kWholeFloats / 2 / shape.out_padded / kPad * kPad, 2 * kPad);
    shape.block = static_cast<std::uint32_t>(std::min<std::size_t>(block, in));
  }
  return shape;
}

class Dense : public Layer {
 public:
  Dense(std::string name, Shape input, std::uint32_t outputs, bool relu)
      : Layer(std::move(name)), shape_(dense_shape(static_cast<std::uint32_t>(input.size()), outputs)), relu_(relu) {}

  Shape output() const override { return {1, 1, shape_.out}; }
  bool dense() const override { return true; }
  const DenseShape& matrix() const { return shape_; }
  std::uint64_t forward_macs() const override { return std::uint64_t{shape_.in} * shape_.out; }
  Request request(std::uint32_t) const override { return {Format::kRows, 0}; }

  std::vector<TensorSpec> tensors() const override {
    const std::uint32_t in = shape_.in;
    const std::uint32_t out = shape_.out;
    return {{name() + ".weight", {in, out}, TensorRole::kWeight, in, in, out},
            {name() + ".bias", {out}, TensorRole::kBias, in, in, out}};
  }

  std::size_t packed_size() const override { return shape_.packed() + shape_.out_padded; }

  void pack(const float* flat, float* packed) const override {
    dense_kernels().pack(shape_, flat, packed);
    float* bias = packed + shape_.packed();
    std::memcpy(bias, flat + forward_macs(), shape_.out * sizeof(float));
    std::fill(bias + shape_.out, bias + shape_.out_padded, 0.0f);
  }

  void unpack(const float* packed, float* flat) const override {
    dense_kernels().unpack(shape_, packed, flat);
    std::memcpy(flat + forward_macs(), packed + shape_.packed(), shape_.out * sizeof(float));
  }

  Activation compile(Compiler& compiler, const Activation& in, const Request& want) const override {
    Activation out = compiler.activation(Format::kRows, output());
    out.relu = relu_;
    const DenseKernels* kernels = &dense_kernels();
    const DenseShape shape = shape_;
    const std::size_t rows = compiler.batch();
    const float* weights = compiler.weights();
    const std::size_t offset = compiler.weights_offset();

    compiler.forward(Call([=](const Pass&) {
      kernels->forward(shape, rows, in.data, in.sample_stride, weights, weights + shape.packed(), out.data,
                       out.sample_stride, out.relu);
    }));

    float* scratch = in.gradient ? compiler.scratch(2 * kPad * shape.out_padded) : nullptr;
    compiler.backward(Call([=](const Pass& pass) {
      const float* dz = out.gradient;
      const std::size_t dz_stride = out.sample_stride;
      const std::uint32_t blocks = shape.blocks();
      for (std::uint32_t b = 0; b < blocks; ++b) {
        const std::size_t begin = std::size_t{b} * shape.block;
        const std::size_t inputs = std::min<std::size_t>(shape.block, shape.in - begin);
        const std::size_t count = inputs * shape.out_padded;
        const std::size_t at = begin * shape.out_padded;
        if (in.gradient) {
          kernels->backward(shape, b, b + 1, rows, dz, dz_stride, weights, in.relu ? in.data : nullptr, in.gradient,
                            in.sample_stride, scratch);
        }
        float* target = begin_update(pass, offset + at, count);
        const float* ahead = in.gradient && b + 1 < blocks ? weights + at + count : nullptr;
        kernels->update(shape, b, b + 1, rows, in.data, in.sample_stride, dz, dz_stride, pass.scale, target, ahead);
      }
      kernels->update_bias(rows, shape.out_padded, dz, dz_stride, pass.scale,
                           begin_update(pass, offset + shape.packed(), shape.out_padded));
    }));
    return as_wanted(out, want);
  }

 private:
  DenseShape shape_;
  bool relu_;
};

}  // namespace

std::unique_ptr<Layer> make_dense(std::string name, Shape input, std::uint32_t outputs, bool relu) {
  return std::make_unique<Dense>(std::move(name), input, outputs, relu);
}

const DenseShape* dense_matrix(const Layer& layer) {
  const auto* dense = dynamic_cast<const Dense*>(&layer);
  return dense ? &dense->matrix() : nullptr;
}

}  // namespace muster
