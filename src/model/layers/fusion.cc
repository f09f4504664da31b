#include "model/layers/fusion.h"

#include <cstring>

#include "base/check.h"
#include "model/layers/conv.h"

namespace muster {
namespace {

// Features of a sample in height-width-channel order, pixel after pixel.
struct Features {
  std::size_t pixels = 1;
  std::size_t channels = 1;
  [[nodiscard]] std::size_t size() const { return pixels * channels; }
};

Features features_of(Shape shape) {
  return {std::size_t{shape.height} * shape.width, shape.channels};
}

struct ShareWork {
  Activation x;
  Activation y;
  float* frozen;  // rows like x
  const float* share;
  double* sums;
  Features features;
  bool single;
  std::size_t batch;
  std::size_t offset;
  std::size_t width;  // of the packed share

  // Written so that no share at all, and features that are equal, leave x as it is.
  void forward() const {
    for (std::size_t n = 0; n < batch; ++n) {
      const float* a = x.data + n * x.sample_stride;
      const float* b = frozen + n * x.sample_stride;
      float* out = y.data + n * y.sample_stride;
      for (std::size_t i = 0; i < features.size(); i += features.channels) {
        for (std::size_t c = 0; c < features.channels; ++c) {
          out[i + c] = a[i + c] + share[single ? 0 : c] * (b[i + c] - a[i + c]);
        }
      }
    }
  }

  void backward(const Pass& pass) const {
    std::fill(sums, sums + width, 0.0);
    for (std::size_t n = 0; n < batch; ++n) {
      const float* a = x.data + n * x.sample_stride;
      const float* b = frozen + n * x.sample_stride;
      const float* slope = y.gradient + n * y.sample_stride;
      float* out = x.gradient + n * x.sample_stride;
      for (std::size_t i = 0; i < features.size(); i += features.channels) {
        for (std::size_t c = 0; c < features.channels; ++c) {
          const std::size_t s = single ? 0 : c;
          sums[s] += static_cast<double>(slope[i + c] * (b[i + c] - a[i + c]));
          out[i + c] = (1 - share[s]) * slope[i + c];
        }
      }
    }
    float* const target = begin_update(pass, offset, width);
    for (std::size_t s = 0; s < width; ++s) target[s] += pass.scale * static_cast<float>(sums[s]);
  }

  void keep() const { std::memcpy(frozen, x.data, batch * x.sample_stride * sizeof(float)); }
  void hand_on() const {
    for (std::size_t n = 0; n < batch; ++n) {
      std::memcpy(y.data + n * y.sample_stride, x.data + n * x.sample_stride, features.size() * sizeof(float));
    }
  }
};

class ShareFusion final : public Layer {
 public:
  ShareFusion(std::string name, Shape shape, bool single) : Layer(std::move(name)), shape_(shape), single_(single) {}

  Shape output() const override { return shape_; }
  bool fuses() const override { return true; }
  Request request(std::uint32_t) const override { return {Format::kRows, 0}; }
  std::vector<TensorSpec> tensors() const override { return {{name() + ".share", {shares()}, TensorRole::kShift}}; }
  std::size_t packed_size() const override { return padded(shares()); }
  void pack(const float* flat, float* packed) const override {
    std::memset(packed, 0, packed_size() * sizeof(float));
    std::memcpy(packed, flat, shares() * sizeof(float));
  }
  void unpack(const float* packed, float* flat) const override { std::memcpy(flat, packed, shares() * sizeof(float)); }

  Activation compile(Compiler& compiler, const Activation& in, const Request& want) const override {
    MUSTER_CHECK(want.format == Format::kRows && in.gradient && !in.relu, "{} stands before a dense layer", name());
    const ShareWork work{.x = in,
                         .y = compiler.activation(Format::kRows, shape_),
                         .frozen = compiler.floats(compiler.max_batch() * in.sample_stride),
                         .share = compiler.weights(),
                         .sums = reinterpret_cast<double*>(compiler.scratch(2 * packed_size())),
                         .features = features_of(shape_),
                         .single = single_,
                         .batch = compiler.batch(),
                         .offset = compiler.weights_offset(),
                         .width = packed_size()};
    if (compiler.frozen()) {
      compiler.forward_train(Call([work](const Pass&) { work.keep(); }));
      compiler.end_frozen();
      return work.y;
    }
    compiler.forward_train(Call([work](const Pass&) { work.forward(); }));
    compiler.forward_evaluate(Call([work](const Pass&) { work.hand_on(); }));
    compiler.backward(Call([work](const Pass& pass) { work.backward(pass); }));
    return work.y;
  }

 private:
  std::uint32_t shares() const { return single_ ? 1 : shape_.channels; }
  Shape shape_;
  bool single_;
};

// Rows side by side with others, pixel by pixel: what the convolution reads. The trained features are the first half of
// each pixel.
struct Joining {
  Activation rows;
  Activation joined;
  Features features;
  std::size_t batch;

  void copy_in(bool second_half) const {
    each_pixel([&](std::size_t row, std::size_t pixel) {
      std::memcpy(joined.data + pixel + (second_half ? features.channels : 0), rows.data + row, bytes());
    });
  }
  void copy_gradient_out() const {
    each_pixel([&](std::size_t row, std::size_t pixel) {
      std::memcpy(rows.gradient + row, joined.gradient + pixel, bytes());
    });
  }

 private:
  [[nodiscard]] std::size_t bytes() const { return features.channels * sizeof(float); }
  template <typename Move>
  void each_pixel(const Move& move) const {
    const std::size_t width = joined.shape.width;
    for (std::size_t n = 0; n < batch; ++n) {
      for (std::size_t p = 0; p < features.pixels; ++p) {
        move(n * rows.sample_stride + p * features.channels,
             n * joined.sample_stride + p / width * joined.row_stride + p % width * joined.pixel_stride);
      }
    }
  }
};

class ConvFusion final : public Layer {
 public:
  ConvFusion(std::string name, Shape shape)
      : Layer(std::move(name)),
        shape_(shape),
        conv_(make_conv(this->name(), joined_shape(), {.channels = shape.channels, .bias = false, .relu = false})) {}

  Shape output() const override { return shape_; }
  bool fuses() const override { return true; }
  Request request(std::uint32_t) const override { return {Format::kRows, 0}; }
  std::vector<TensorSpec> tensors() const override {
    std::vector<TensorSpec> list = conv_->tensors();
    for (TensorSpec& tensor : list) tensor.role = TensorRole::kIdentity;
    return list;
  }
  std::size_t packed_size() const override { return conv_->packed_size(); }
  void pack(const float* flat, float* packed) const override { conv_->pack(flat, packed); }
  void unpack(const float* packed, float* flat) const override { conv_->unpack(packed, flat); }
  std::uint64_t forward_macs() const override { return conv_->forward_macs(); }

  Activation compile(Compiler& compiler, const Activation& in, const Request& want) const override {
    MUSTER_CHECK(in.gradient && !in.relu, "{} stands before a dense layer", name());
    const Request asked = conv_->request(compiler.batch());
    const Joining joining{.rows = in,
                          .joined = compiler.activation(asked.format, joined_shape(), asked.halo),
                          .features = features_of(shape_),
                          .batch = compiler.batch()};
    if (compiler.frozen()) {
      compiler.forward_train(Call([joining](const Pass&) { joining.copy_in(true); }));
      compiler.end_frozen();
    } else {
      compiler.forward_train(Call([joining](const Pass&) { joining.copy_in(false); }));
      compiler.forward_evaluate(Call([joining](const Pass&) {
        joining.copy_in(false);
        joining.copy_in(true);
      }));
    }
    const Activation out = compiler.add(*conv_, joining.joined, want);
    compiler.backward(Call([joining](const Pass&) { joining.copy_gradient_out(); }));
    return out;
  }

 private:
  Shape joined_shape() const { return {shape_.height, shape_.width, 2 * shape_.channels}; }
  Shape shape_;
  std::unique_ptr<Layer> conv_;
};

}  // namespace

std::unique_ptr<Layer> make_fusion(std::string name, Shape shape, Fusion fusion) {
  if (fusion == Fusion::kConv) return std::make_unique<ConvFusion>(std::move(name), shape);
  return std::make_unique<ShareFusion>(std::move(name), shape, fusion == Fusion::kSingle);
}

}  // namespace muster
