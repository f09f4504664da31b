#include "model/layers/norm_layer.h"

#include <cstring>

#include "base/check.h"
#include "model/kernels/activation_kernels.h"
#include "model/layers/norm.h"
#include "model/layers/values.h"

namespace muster {
namespace {

// Scale and shift, each padded: what both kinds of layer train.
class Affine : public Layer {
 public:
  Affine(std::string name, Shape shape) : Layer(std::move(name)), shape_(shape) {}

  Shape output() const override { return shape_; }
  Request request(std::uint32_t) const override { return {Format::kChannels, 0}; }
  std::vector<TensorSpec> tensors() const override {
    return {{name() + ".scale", {shape_.channels}, TensorRole::kScale},
            {name() + ".shift", {shape_.channels}, TensorRole::kShift}};
  }
  std::size_t packed_size() const override { return 2 * step(); }
  void pack(const float* flat, float* packed) const override {
    std::memset(packed, 0, packed_size() * sizeof(float));
    for (const std::size_t i : {0, 1}) std::memcpy(packed + i * step(), flat + i * shape_.channels, bytes());
  }
  void unpack(const float* packed, float* flat) const override {
    for (const std::size_t i : {0, 1}) std::memcpy(flat + i * shape_.channels, packed + i * step(), bytes());
  }

 protected:
  const Shape& shape() const { return shape_; }
  std::size_t step() const { return padded(shape_.channels); }

 private:
  std::size_t bytes() const { return shape_.channels * sizeof(float); }
  Shape shape_;
};

struct NormCalls {
  const PlaneKernels* planes;
  Values x;
  Values y;
  std::size_t batch;
  std::size_t offset;
  NormWork work;

  void apply(std::size_t n) const {
    planes->affine(x.shape, x.data(n), work.maps, work.maps + work.padded_channels, {}, false, y.data(n));
  }

  void forward(const Pass& pass, bool evaluate) const {
    if (work.batch && evaluate) {
      work.evaluation_map();
    } else if (work.batch) {
      work.clear_sums();
      for (std::size_t n = 0; n < batch; ++n) add_moments(n, x.datas.data);
      work.batch_statistics(x.datas.data, values(), pass.move_statistics);
      work.forward_map(0);
    }
    for (std::size_t n = 0; n < batch; ++n) {
      if (!work.batch) {
        const float* pivot = x.data(n).data;
        work.clear_sums();
        add_moments(n, pivot);
        work.group_statistics(pivot, n);
        work.forward_map(n);
      }
      apply(n);
    }
  }

  void backward(const Pass& pass) const {
    const std::size_t step = work.padded_channels;
    work.clear_parameter_sums();
    if (work.batch) {
      work.clear_sums();
      for (std::size_t n = 0; n < batch; ++n) add_gradient_sums(n, work.mean);
      work.batch_backward_map(values());
    }
    for (std::size_t n = 0; n < batch; ++n) {
      if (!work.batch) {
        work.clear_sums();
        add_gradient_sums(n, work.mean + n * step);
        work.group_backward_map(n);
      }
      if (!x.gradients) continue;
      planes->affine_backward(x.shape, y.gradient(n), x.data(n), work.maps, work.maps + step, work.maps + 2 * step,
                              x.gradient(n));
    }
    float* target = begin_update(pass, offset, 2 * step);
    for (std::size_t c = 0; c < work.channels; ++c) {
      target[c] += pass.scale * static_cast<float>(work.sums[3 * step + c]);
      target[step + c] += pass.scale * static_cast<float>(work.sums[2 * step + c]);
    }
  }

 private:
  [[nodiscard]] double values() const { return work.pixels * static_cast<double>(batch); }
  void add_moments(std::size_t n, const float* pivot) const {
    planes->moments(x.shape, x.data(n), pivot, work.sums, work.sums + work.padded_channels);
  }
  void add_gradient_sums(std::size_t n, const float* mean) const {
    planes->gradient_sums(x.shape, x.data(n), {}, mean, y.gradient(n), work.sums, work.sums + work.padded_channels);
  }
};

class NormLayer : public Affine {
 public:
  NormLayer(std::string name, Shape shape, Norm norm, std::uint32_t groups)
      : Affine(std::move(name), shape), batch_(norm == Norm::kBatch), groups_(groups) {
    MUSTER_CHECK(norm != Norm::kNone && shape.channels % groups == 0, "{}: {} channels in {} groups", this->name(),
                 shape.channels, groups);
  }

  std::vector<TensorSpec> tensors() const override {
    std::vector<TensorSpec> list = Affine::tensors();
    if (batch_) {
      list.push_back({name() + ".mean", {shape().channels}, TensorRole::kMean});
      list.push_back({name() + ".variance", {shape().channels}, TensorRole::kVariance});
    }
    return list;
  }

  Activation compile(Compiler& compiler, const Activation& in, const Request& want) const override {
    const Delivery delivery = make_delivery(compiler, shape(), want);
    const std::size_t sets = batch_ ? 1 : compiler.max_batch();
    NormCalls calls{.planes = &plane_kernels(),
                    .x = values(in, false),
                    .y = values(delivery.inside, false),
                    .batch = compiler.batch(),
                    .offset = compiler.weights_offset(),
                    .work = {.batch = batch_,
                             .channels = shape().channels,
                             .padded_channels = step(),
                             .groups = groups_,
                             .pixels = static_cast<double>(shape().height) * shape().width,
                             .scale = compiler.weights(),
                             .shift = compiler.weights() + step()}};
    if (batch_) {
      calls.work.running_mean = compiler.statistics();
      calls.work.running_variance = compiler.statistics() + step();
    }
    calls.work.carve(compiler.floats(NormWork::floats(step(), sets)), sets);
    compiler.forward_train(Call([calls](const Pass& pass) { calls.forward(pass, false); }));
    compiler.forward_evaluate(Call([calls](const Pass& pass) { calls.forward(pass, true); }));
    compiler.backward(Call([calls](const Pass& pass) { calls.backward(pass); }));
    copy_forward(compiler, delivery);
    copy_backward_first(compiler, delivery);
    return delivery.result;
  }

 private:
  bool batch_;
  std::uint32_t groups_;
};

class LayerNorm : public Affine {
 public:
  LayerNorm(std::string name, Shape shape) : Affine(std::move(name), shape) {}

  Activation compile(Compiler& compiler, const Activation& in, const Request& want) const override {
    const Delivery delivery = make_delivery(compiler, shape(), want);
    const ActivationKernels* kernels = &activation_kernels();
    const PlaneKernels* planes = &plane_kernels();
    const Values x = values(in, false);
    const Values y = values(delivery.inside, false);
    const PixelNorm norm{shape().channels, compiler.weights(), compiler.weights() + step()};
    const std::size_t batch = compiler.batch();
    const std::size_t offset = compiler.weights_offset();
    const std::size_t width = step();
    const std::size_t pixels = std::size_t{shape().height} * shape().width;
    float* moments = compiler.floats(compiler.max_batch() * 2 * pixels);
    float* sums = compiler.scratch(2 * width);
    compiler.forward(Call([=](const Pass&) {
      for (std::size_t n = 0; n < batch; ++n) {
        kernels->normalise(x.shape, norm, x.data(n), moments + 2 * n * pixels, y.data(n));
      }
    }));
    compiler.backward(Call([=](const Pass& pass) {
      std::memset(sums, 0, 2 * width * sizeof(float));
      for (std::size_t n = 0; n < batch; ++n) {
        kernels->normalise_backward(x.shape, norm, x.data(n), moments + 2 * n * pixels, y.gradient(n),
                                    x.gradients ? x.gradient(n) : Plane{}, sums, sums + width);
      }
      planes->add_scaled(2 * width, pass.scale, sums, begin_update(pass, offset, 2 * width));
    }));
    copy_forward(compiler, delivery);
    copy_backward_first(compiler, delivery);
    return delivery.result;
  }
};

}  // namespace

std::unique_ptr<Layer> make_norm(std::string name, Shape shape, Norm norm, std::uint32_t groups) {
  return std::make_unique<NormLayer>(std::move(name), shape, norm, groups);
}

std::unique_ptr<Layer> make_layer_norm(std::string name, Shape shape) {
  return std::make_unique<LayerNorm>(std::move(name), shape);
}

}  // namespace muster
