#include "model/layers/conv.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/check.h"
#include "model/kernels/lanes_kernels.h"
#include "model/kernels/winograd_kernels.h"
#include "model/layers/channels.h"
#include "model/layers/norm.h"

namespace muster {
namespace {

constexpr std::uint32_t kSmallestLanesBatch = 8;
// From here on the transforms of the weights are paid for.
constexpr std::uint32_t kSmallestWinogradBatch = 4;

int to_int(std::size_t value) {
  return static_cast<int>(value);
}

// Packed parameters, in this order; each part a multiple of kPad floats.
struct Parts {
  std::size_t weight = 0;
  std::size_t bias = 0;
  std::size_t norm = 0;  // scale, then shift, each norm / 2
  [[nodiscard]] std::size_t size() const { return weight + bias + norm; }
};

// A call in the channels format, forward or backward, image by image. Names follow the flow
//   x -> convolution -> z -> normalisation -> a -> ReLU, pooling -> y
// where a step is missing its two names mean the same memory; a map that need not be kept has sample stride 0.
struct ChannelsWork {
  const ConvKernels* conv;
  const PlaneKernels* planes;
  const WinogradKernels* winograd;  // null: not for this shape
  ConvShape shape;                  // batch 1
  PoolShape pool;
  std::size_t batch;
  bool norm, relu, pooled, accumulate, by_convolution;
  Images input, x, z, a, y, summand;
  Images dx, dz, da, dy, skip;
  const float* weights;
  std::size_t offset;
  Parts parts;
  float* turned;    // weights for the data gradient
  float* spectrum;  // weights as Winograd's algorithm sees them
  float* spectrum_turned;
  float* spectrum_gradient;
  float* points;    // its scratch
  float* gradient;  // sums of weight and bias gradients
  std::uint8_t* choice;
  std::size_t choices;  // bytes of an image
  NormWork statistics;

  // The network's input has no halo of its own.
  void add_halo(std::size_t n) const {
    if (input.data == x.data) return;
    const std::size_t bytes = static_cast<std::size_t>(shape.in_width) * x.pixel * sizeof(float);
    for (int y_row = 0; y_row < shape.in_height; ++y_row) {
      std::memcpy(x.data + n * x.sample + y_row * x.row, input.data + n * input.sample + y_row * input.row, bytes);
    }
  }

  static Images at(Images tensor, std::size_t n) {
    tensor.data += n * tensor.sample;
    return tensor;
  }

  [[nodiscard]] std::size_t spectrum_size() const {
    return static_cast<std::size_t>(winograd->points(winograd_shape())) * static_cast<std::size_t>(shape.in_channels) *
           static_cast<std::size_t>(shape.out_channels);
  }
  [[nodiscard]] WinogradShape winograd_shape() const {
    return {shape.in_height, shape.in_width, shape.in_channels, shape.out_channels};
  }
  // Of the data gradient.
  [[nodiscard]] WinogradShape turned_shape() const {
    return {shape.in_height, shape.in_width, shape.out_channels, shape.in_channels};
  }

  void convolve(std::size_t n) const {
    add_halo(n);
    const float* bias = parts.bias > 0 ? weights + parts.weight : nullptr;
    if (winograd) {
      winograd->forward(winograd_shape(), at(x, n), spectrum, bias, at(z, n), points);
    } else {
      conv->forward(shape, at(x, n), weights, bias, at(z, n));
    }
  }

  void finish(std::size_t n) const {
    if (norm) {
      const float* maps = statistics.maps;
      const Plane more = summand.data ? plane(summand, n) : Plane{};
      planes->affine(pool.in, plane(z, n), maps, maps + statistics.padded_channels, more, relu && !pooled, plane(a, n));
    } else if (relu && !pooled) {
      planes->relu(pool.in, plane(z, n), plane(y, n));
    }
    if (pooled) planes->max_pool(pool, plane(a, n), relu, plane(y, n), choice + n * choices);
  }

  void add_moments(std::size_t n, const float* pivot) const {
    planes->moments(pool.in, plane(z, n), pivot, statistics.sums, statistics.sums + statistics.padded_channels);
  }

  [[nodiscard]] double values() const { return statistics.pixels * static_cast<double>(batch); }

  void forward(bool evaluate, const Pass& pass) const {
    if (winograd && !pass.same_weights) winograd->spectrum(winograd_shape(), weights, spectrum);
    if (norm && statistics.batch && !evaluate) {
      statistics.clear_sums();
      for (std::size_t n = 0; n < batch; ++n) {
        convolve(n);
        add_moments(n, z.data);
      }
      statistics.batch_statistics(z.data, values(), pass.move_statistics);
      statistics.forward_map(0);
      for (std::size_t n = 0; n < batch; ++n) finish(n);
      return;
    }
    if (norm && statistics.batch) statistics.evaluation_map();
    for (std::size_t n = 0; n < batch; ++n) {
      convolve(n);
      if (norm && !statistics.batch) {
        const float* pivot = z.data + n * z.sample;
        statistics.clear_sums();
        add_moments(n, pivot);
        statistics.group_statistics(pivot, n);
        statistics.forward_map(n);
      }
      finish(n);
    }
  }

  // The gradient after normalisation: undoes pooling and ReLU.
  void unfinish(std::size_t n) const {
    if (pooled) {
      planes->max_pool_backward(pool, plane(dy, n), choice + n * choices, plane(da, n));
    } else if (relu && !norm) {
      planes->relu_backward(pool.in, plane(y, n), plane(dy, n));
    }
  }

  void add_gradient_sums(std::size_t n) const {
    // The ReLU's mask is applied to dy for good: a residual block's shortcut takes it from there.
    const Plane mask = relu && !pooled ? plane(y, n) : Plane{};
    const float* mean = statistics.mean + (statistics.batch ? 0 : n * statistics.padded_channels);
    planes->gradient_sums(pool.in, plane(z, n), mask, mean, plane(da, n), statistics.sums,
                          statistics.sums + statistics.padded_channels);
  }

  void unnormalise(std::size_t n) const {
    const std::size_t step = statistics.padded_channels;
    const float* maps = statistics.maps;
    planes->affine_backward(pool.in, plane(da, n), plane(z, n), maps, maps + step, maps + 2 * step, plane(dz, n));
  }

  void unconvolve(std::size_t n) const {
    float* bias = parts.bias > 0 ? gradient + parts.weight : nullptr;
    if (winograd) {
      winograd->backward_weights(winograd_shape(), at(x, n), at(dz, n), spectrum_gradient, bias, points);
    } else {
      conv->backward_weights(shape, at(x, n), at(dz, n), gradient, bias);
    }
    if (!dx.data) return;
    const PlaneShape size{to_int(padded(static_cast<std::size_t>(shape.in_channels)) / kPad), shape.in_height,
                          shape.in_width};
    if (winograd) {
      winograd->forward(turned_shape(), at(dz, n), spectrum_turned, nullptr, at(dx, n), points);
    } else if (by_convolution) {
      ConvShape back = shape;
      std::swap(back.in_height, back.out_height);
      std::swap(back.in_width, back.out_width);
      std::swap(back.in_channels, back.out_channels);
      back.pad_top = shape.kernel_height - 1 - shape.pad_top;
      back.pad_left = shape.kernel_width - 1 - shape.pad_left;
      conv->forward(back, at(dz, n), turned, nullptr, at(dx, n));
    } else {
      if (!accumulate) planes->clear(size, plane(dx, n));
      conv->backward_data(shape, at(dz, n), turned, at(dx, n));
    }
    if (skip.data) planes->add(size, plane(skip, n), plane(dx, n));
  }

  void backward(const Pass& pass) const {
    std::memset(gradient, 0, (parts.weight + parts.bias) * sizeof(float));
    if (winograd) std::memset(spectrum_gradient, 0, spectrum_size() * sizeof(float));
    if (dx.data && !pass.same_weights) {
      conv->turn(shape, weights, by_convolution, turned);
      if (winograd) winograd->spectrum(turned_shape(), turned, spectrum_turned);
    }
    if (norm) statistics.clear_parameter_sums();
    if (norm && statistics.batch) {
      statistics.clear_sums();
      for (std::size_t n = 0; n < batch; ++n) {
        unfinish(n);
        add_gradient_sums(n);
      }
      statistics.batch_backward_map(values());
    }
    for (std::size_t n = 0; n < batch; ++n) {
      // With batch statistics the first loop went past; only what shares memory between images is made again.
      if (!norm || !statistics.batch || pooled) unfinish(n);
      if (norm && !statistics.batch) {
        statistics.clear_sums();
        add_gradient_sums(n);
        statistics.group_backward_map(n);
      }
      if (norm) unnormalise(n);
      unconvolve(n);
    }
    if (winograd) winograd->add_weights(winograd_shape(), spectrum_gradient, gradient);
    float* target = begin_update(pass, offset, parts.size());
    planes->add_scaled(parts.weight + parts.bias, pass.scale, gradient, target);
    if (norm) {
      const std::size_t step = statistics.padded_channels;
      float* scale = target + parts.weight + parts.bias;
      for (std::size_t c = 0; c < statistics.channels; ++c) {
        scale[c] += pass.scale * static_cast<float>(statistics.sums[3 * step + c]);
        scale[step + c] += pass.scale * static_cast<float>(statistics.sums[2 * step + c]);
      }
    }
  }
};

// A call with 16 samples in the lanes, block by block: x -> convolution -> map -> ReLU, pooling -> y. Rows are
// convolved and pooled as they come, so the map is never whole.
struct LanesWork {
  const LanesKernels* conv;
  const PlaneKernels* planes;
  LanesShape shape;
  PoolShape pool;  // one row of windows
  int pooled_height;
  std::size_t batch;
  bool relu;
  const float* rows_in;  // the network's input, or null
  std::size_t rows_in_stride;
  float* x;
  std::size_t x_block;
  float* dx;
  float* y;  // one block, or all blocks, by y_block
  float* dy;
  std::size_t y_block;
  float* rows_out;  // null: lanes are wanted
  const float* rows_gradient;
  std::size_t rows_out_stride;
  const float* weights;
  std::size_t offset;
  Parts parts;
  float* packed;
  float* turned;
  float* sums;  // of weight gradients
  float* bias_sums;
  float* map;   // pool.in.height rows of every channel
  float* dmap;  // the whole map of a block
  std::uint8_t* choice;
  std::size_t choices;  // bytes of one row of windows

  [[nodiscard]] std::size_t blocks() const { return (batch + kPad - 1) / kPad; }
  [[nodiscard]] int count(std::size_t block) const { return to_int(std::min<std::size_t>(kPad, batch - block * kPad)); }
  [[nodiscard]] std::size_t map_row() const { return static_cast<std::size_t>(shape.out_width) * kPad; }
  [[nodiscard]] std::size_t pooled_row() const { return static_cast<std::size_t>(pool.out_width) * kPad; }
  [[nodiscard]] Plane pooled(float* data, std::size_t block, int row) const {
    const std::size_t step = pooled_row();
    return {data + block * y_block + static_cast<std::size_t>(row) * step, step, kPad,
            step * static_cast<std::size_t>(pooled_height)};
  }

  void forward() const {
    conv->pack(shape, weights, packed);
    const float* bias = parts.bias > 0 ? weights + parts.weight : nullptr;
    const int in_pixels = shape.in_height * shape.in_width;
    const std::size_t strip = static_cast<std::size_t>(pool.in.height) * map_row();
    for (std::size_t b = 0; b < blocks(); ++b) {
      if (rows_in) {
        conv->from_rows(in_pixels, shape.in_channels, count(b), rows_in + b * kPad * rows_in_stride, rows_in_stride,
                        x + b * x_block);
      }
      for (int row = 0; row < pooled_height; ++row) {
        const int first = row * pool.in.height;
        conv->forward(shape, x + b * x_block, packed, bias, first, first + pool.in.height, map, strip);
        planes->max_pool(
            pool, {map, map_row(), kPad, strip}, relu, pooled(y, b, row),
            choice + (b * static_cast<std::size_t>(pooled_height) + static_cast<std::size_t>(row)) * choices);
      }
      if (rows_out) {
        conv->to_rows(pooled_height * pool.out_width, shape.out_channels, count(b), y + b * y_block,
                      rows_out + b * kPad * rows_out_stride, rows_out_stride);
      }
    }
  }

  void backward(const Pass& pass) const {
    std::memset(sums, 0, conv->packed_floats(shape) * sizeof(float));
    std::memset(bias_sums, 0, padded(static_cast<std::size_t>(shape.out_channels)) * sizeof(float));
    if (dx) conv->pack_turned(shape, weights, turned);
    const std::size_t channel = static_cast<std::size_t>(shape.out_height) * map_row();
    for (std::size_t b = 0; b < blocks(); ++b) {
      if (rows_out) {
        conv->from_rows(pooled_height * pool.out_width, shape.out_channels, count(b),
                        rows_gradient + b * kPad * rows_out_stride, rows_out_stride, dy + b * y_block);
      }
      // Rows of the map below the last window stay zero.
      for (int row = 0; row < pooled_height; ++row) {
        const Plane strip{dmap + static_cast<std::size_t>(row * pool.in.height) * map_row(), map_row(), kPad, channel};
        planes->max_pool_backward(
            pool, pooled(dy, b, row),
            choice + (b * static_cast<std::size_t>(pooled_height) + static_cast<std::size_t>(row)) * choices, strip);
      }
      conv->backward_weights(shape, x + b * x_block, dmap, sums, bias_sums);
      if (dx) conv->backward_data(shape, dmap, turned, dx + b * x_block);
    }
    float* target = begin_update(pass, offset, parts.size());
    conv->add_sums(shape, pass.scale, sums, target);
    if (parts.bias > 0) {
      planes->add_scaled(static_cast<std::size_t>(shape.out_channels), pass.scale, bias_sums, target + parts.weight);
    }
  }
};

class Conv : public Layer {
 public:
  Conv(std::string name, Shape input, const ConvOptions& options)
      : Layer(std::move(name)), input_(input), options_(options), output_(conv_output(input, options)) {
    const Extent k = options_.kernel;
    const Padding p = options_.padding;
    MUSTER_CHECK(output_.size() > 0, "{}: a kernel of {} x {} and pooling by {} x {} on {} x {}", this->name(),
                 k.height, k.width, options_.pool.height, options_.pool.width, input_.height, input_.width);
    MUSTER_CHECK(p.top < k.height && p.bottom < k.height && p.left < k.width && p.right < k.width,
                 "{}: padding must be smaller than the kernel", this->name());
    MUSTER_CHECK(options_.pool.height * options_.pool.width <= 255, "{}: a pooling window of {} x {}", this->name(),
                 options_.pool.height, options_.pool.width);
    MUSTER_CHECK(options_.norm != Norm::kGroup || options_.channels % options_.groups == 0,
                 "{}: {} channels in {} groups", this->name(), options_.channels, options_.groups);
    MUSTER_CHECK(options_.lanes == Lanes::kNever ||
                     (options_.norm == Norm::kNone && options_.stride == 1 && p.top + p.left + p.bottom + p.right == 0),
                 "{}: lanes are for plain convolutions", this->name());
    ConvOptions unpooled = options_;
    unpooled.pool = {};
    map_ = conv_output(input_, unpooled);
    const std::size_t step = padded(options_.channels);
    parts_.weight = std::size_t{k.height} * k.width * input_.channels * step;
    parts_.bias = options_.bias ? step : 0;
    parts_.norm = options_.norm == Norm::kNone ? 0 : 2 * step;
  }

  Shape output() const override { return output_; }
  std::uint64_t forward_macs() const override {
    return std::uint64_t{map_.height} * map_.width * options_.kernel.height * options_.kernel.width * input_.channels *
           options_.channels;
  }

  std::vector<TensorSpec> tensors() const override {
    const std::uint32_t area = options_.kernel.height * options_.kernel.width;
    const std::uint32_t in = input_.channels;
    const std::uint32_t out = options_.channels;
    const std::uint32_t fan_in = area * in;
    const std::uint32_t fan_out = area * out;
    std::vector<TensorSpec> list;
    list.push_back({name() + ".weight",
                    {options_.kernel.height, options_.kernel.width, in, out},
                    TensorRole::kWeight,
                    fan_in,
                    fan_in,
                    fan_out});
    if (options_.bias) list.push_back({name() + ".bias", {out}, TensorRole::kBias, fan_in, fan_in, fan_out});
    if (options_.norm != Norm::kNone) {
      list.push_back({name() + ".scale", {out}, TensorRole::kScale});
      list.push_back({name() + ".shift", {out}, TensorRole::kShift});
    }
    if (options_.norm == Norm::kBatch) {
      list.push_back({name() + ".mean", {out}, TensorRole::kMean});
      list.push_back({name() + ".variance", {out}, TensorRole::kVariance});
    }
    return list;
  }

  std::size_t packed_size() const override { return parts_.size(); }

  void pack(const float* flat, float* packed) const override {
    std::memset(packed, 0, packed_size() * sizeof(float));
    each_run([&](std::size_t from, std::size_t to) {
      std::memcpy(packed + to, flat + from, options_.channels * sizeof(float));
    });
  }
  void unpack(const float* packed, float* flat) const override {
    each_run([&](std::size_t from, std::size_t to) {
      std::memcpy(flat + from, packed + to, options_.channels * sizeof(float));
    });
  }

  Request request(std::uint32_t batch) const override {
    if (uses_lanes(batch)) return {Format::kLanes, 0};
    return {Format::kChannels, halo()};
  }

  Activation compile(Compiler& compiler, const Activation& in, const Request& want) const override {
    return uses_lanes(compiler.batch()) ? compile_lanes(compiler, in, want) : compile_tied(compiler, in, want, {});
  }

  Activation compile_tied(Compiler& compiler, const Activation& in, const Request& want, const ConvTies& ties) const;

 private:
  bool uses_lanes(std::uint32_t batch) const {
    switch (options_.lanes) {
      case Lanes::kNever:
        break;
      case Lanes::kFilled:
        return lanes_kernels().in_pairs(to_int(options_.kernel.width)) && 4 * batch >= 3 * padded(batch);
      case Lanes::kOften:
        return batch >= kSmallestLanesBatch;
    }
    return false;
  }
  std::uint32_t halo() const { return std::max(options_.padding.left, options_.padding.right); }

  // 3 x 3, stride 1, padding 1, whole vectors of channels, whole tiles of 2 x 2 pixels.
  bool winograd_fits() const {
    const Padding p = options_.padding;
    return options_.kernel == Extent{3, 3} && options_.stride == 1 && p.top == 1 && p.left == 1 && p.bottom == 1 &&
           p.right == 1 && input_.channels % kPad == 0 && options_.channels % kPad == 0 && input_.height % 2 == 0 &&
           input_.width % 2 == 0;
  }

  // Runs of out channels: in the flat and the packed parameters.
  template <typename Move>
  void each_run(const Move& move) const {
    const std::size_t runs = parts_.size() / padded(options_.channels);
    for (std::size_t i = 0; i < runs; ++i) move(i * options_.channels, i * padded(options_.channels));
  }

  Activation compile_lanes(Compiler& compiler, const Activation& in, const Request& want) const;

  Shape input_;
  ConvOptions options_;
  Shape output_;
  Shape map_;  // before pooling
  Parts parts_;
};

Activation Conv::compile_tied(Compiler& compiler, const Activation& in, const Request& want,
                              const ConvTies& ties) const {
  const bool norm = options_.norm != Norm::kNone;
  const bool pooled = options_.pool != Extent{};
  const Extent kernel = options_.kernel;
  const std::size_t batch = compiler.batch();
  const std::size_t max_batch = compiler.max_batch();
  MUSTER_CHECK(in.format == Format::kChannels && !in.relu, "{} wants channels", name());
  MUSTER_CHECK(!ties.summand.data || (norm && !pooled), "{}: a sum needs normalisation and no pooling", name());

  ChannelsWork work{};
  work.conv = &conv_kernels();
  work.planes = &plane_kernels();
  work.batch = batch;
  work.norm = norm;
  work.relu = options_.relu;
  work.pooled = pooled;
  work.accumulate = ties.accumulate;
  work.shape.in_height = to_int(input_.height);
  work.shape.in_width = to_int(input_.width);
  work.shape.in_channels = to_int(input_.channels);
  work.shape.out_height = to_int(map_.height);
  work.shape.out_width = to_int(map_.width);
  work.shape.out_channels = to_int(map_.channels);
  work.shape.kernel_height = to_int(kernel.height);
  work.shape.kernel_width = to_int(kernel.width);
  work.shape.stride = to_int(options_.stride);
  work.shape.pad_top = to_int(options_.padding.top);
  work.shape.pad_left = to_int(options_.padding.left);
  work.pool.in = plane_shape(map_);
  work.pool.out_height = to_int(output_.height);
  work.pool.out_width = to_int(output_.width);
  work.pool.kernel_height = work.pool.stride_height = to_int(options_.pool.height);
  work.pool.kernel_width = work.pool.stride_width = to_int(options_.pool.width);

  // The data gradient is either a convolution over dz, which multiplies by its halo of zeros, or it is spread tap by
  // tap, which loads and stores the sums for each tap. Take the smaller waste.
  const std::uint32_t side = kernel.width - 1 - options_.padding.left;
  const double useful = 1 - static_cast<double>(side) * (side + 1) / (static_cast<double>(input_.width) * kernel.width);
  work.by_convolution = options_.stride == 1 && !ties.accumulate && options_.padding.top + 1 <= kernel.height &&
                        1 - useful < 3.0 / options_.channels;
  const bool winograd =
      compiler.batch() >= kSmallestWinogradBatch && winograd_fits() && in.halo >= 1 && !ties.accumulate;
  if (winograd) {
    work.winograd = &winograd_kernels();
    work.by_convolution = true;
  }
  const std::uint32_t gradient_halo = in.gradient && work.by_convolution ? side : 0;

  Delivery delivery{ties.output, ties.output};
  if (!ties.output.data) delivery = make_delivery(compiler, output_, want, norm || pooled ? 0 : gradient_halo);
  const Activation& out = delivery.inside;
  work.y = images(out, out.data);
  work.dy = ties.slope.data ? images(ties.slope, ties.slope.gradient) : images(out, out.gradient);

  work.input = images(in, in.data);
  work.x = work.input;
  work.dx = images(in, in.gradient);
  if (in.halo < halo()) {
    MUSTER_CHECK(!in.gradient, "{} was given no halo", name());
    const std::size_t width = input_.width + 2 * std::size_t{halo()};
    work.x.row = width * in.pixel_stride;
    work.x.sample = input_.height * work.x.row;
    // Above and below, kernel rows are skipped: only the first and last row need room beside them.
    work.x.data = compiler.floats(max_batch * work.x.sample) + halo() * in.pixel_stride;
  }
  if (ties.summand.data) work.summand = images(ties.summand, ties.summand.data);
  if (ties.skip.gradient) work.skip = images(ties.skip, ties.skip.gradient);

  // Maps between the steps: z is kept for the normalisation's backward pass, others are needed for one image only.
  const std::size_t step = padded(map_.channels);
  const auto map = [&](std::size_t count, std::uint32_t edge) {
    Images tensor;
    tensor.pixel = step;
    tensor.row = (map_.width + 2 * std::size_t{edge}) * step;
    const std::size_t sample = (map_.height + 2 * std::size_t{edge}) * tensor.row;
    tensor.sample = count > 1 ? sample : 0;
    tensor.data = compiler.floats(count * sample) + edge * (tensor.row + tensor.pixel);
    return tensor;
  };
  work.z = norm ? map(max_batch, 0) : pooled ? map(1, 0) : work.y;
  work.a = norm && pooled ? map(1, 0) : norm ? work.y : work.z;
  work.dz = norm || pooled ? map(1, gradient_halo) : work.dy;
  work.da = norm && pooled ? map(1, 0) : norm ? work.dy : work.dz;

  work.weights = compiler.weights();
  work.offset = compiler.weights_offset();
  work.parts = parts_;
  const std::size_t taps = std::size_t{kernel.height} * kernel.width;
  const std::size_t turned = in.gradient ? taps * options_.channels * padded(input_.channels) : 0;
  const std::size_t spectrum = winograd ? work.spectrum_size() : 0;
  const std::size_t points = winograd ? winograd_kernels().scratch_floats(work.winograd_shape()) : 0;
  work.gradient = compiler.scratch(parts_.weight + parts_.bias + spectrum + points);
  work.spectrum_gradient = work.gradient + parts_.weight + parts_.bias;
  work.points = work.spectrum_gradient + spectrum;
  // Not scratch: they serve all parts of a batch.
  work.turned = compiler.floats(turned);
  work.spectrum = compiler.floats(spectrum);
  work.spectrum_turned = compiler.floats(in.gradient ? spectrum : 0);
  if (pooled) {
    work.choices = std::size_t{output_.height} * output_.width * step;
    work.choice = reinterpret_cast<std::uint8_t*>(compiler.floats(max_batch * work.choices / sizeof(float)));
  }
  if (norm) {
    NormWork& statistics = work.statistics;
    statistics.batch = options_.norm == Norm::kBatch;
    statistics.channels = options_.channels;
    statistics.padded_channels = step;
    statistics.groups = options_.groups;
    statistics.pixels = static_cast<double>(map_.height) * map_.width;
    statistics.scale = work.weights + parts_.weight + parts_.bias;
    statistics.shift = statistics.scale + step;
    statistics.running_mean = compiler.statistics();
    statistics.running_variance = statistics.running_mean + step;
    const std::size_t sets = statistics.batch ? 1 : max_batch;
    statistics.carve(compiler.floats(NormWork::floats(step, sets)), sets);
  }

  compiler.forward_train(Call([work](const Pass& pass) { work.forward(false, pass); }));
  compiler.forward_evaluate(Call([work](const Pass& pass) { work.forward(true, pass); }));
  compiler.backward(Call([work](const Pass& pass) { work.backward(pass); }));
  copy_forward(compiler, delivery);
  copy_backward_first(compiler, delivery);
  return delivery.result;
}

Activation Conv::compile_lanes(Compiler& compiler, const Activation& in, const Request& want) const {
  MUSTER_CHECK(want.format != Format::kChannels && !in.relu, "{} delivers lanes or rows", name());
  const std::size_t max_blocks = padded(compiler.max_batch()) / kPad;
  LanesWork work{};
  work.conv = &lanes_kernels();
  work.planes = &plane_kernels();
  work.shape = {.in_height = to_int(input_.height),
                .in_width = to_int(input_.width),
                .in_channels = to_int(input_.channels),
                .out_height = to_int(map_.height),
                .out_width = to_int(map_.width),
                .out_channels = to_int(map_.channels),
                .kernel_height = to_int(options_.kernel.height),
                .kernel_width = to_int(options_.kernel.width)};
  work.pool.in = {to_int(map_.channels), to_int(options_.pool.height), to_int(map_.width)};
  work.pool.out_height = 1;
  work.pool.out_width = to_int(output_.width);
  work.pool.kernel_height = work.pool.stride_height = to_int(options_.pool.height);
  work.pool.kernel_width = work.pool.stride_width = to_int(options_.pool.width);
  work.pooled_height = to_int(output_.height);
  work.batch = compiler.batch();
  work.relu = options_.relu;
  if (in.format == Format::kLanes) {
    work.x = in.data;
    work.dx = in.gradient;
    work.x_block = in.sample_stride;
  } else {
    MUSTER_CHECK(!in.gradient && in.pixel_stride == input_.channels, "{} wants lanes or the network's input", name());
    work.rows_in = in.data;
    work.rows_in_stride = in.sample_stride;
    work.x_block = input_.size() * kPad;
    work.x = compiler.floats(max_blocks * work.x_block);
  }
  const Activation out = compiler.activation(want.format, output_);
  if (want.format == Format::kLanes) {
    work.y = out.data;
    work.dy = out.gradient;
    work.y_block = out.sample_stride;
  } else {
    work.y = compiler.floats(output_.size() * kPad);
    work.dy = compiler.floats(output_.size() * kPad);
    work.rows_out = out.data;
    work.rows_gradient = out.gradient;
    work.rows_out_stride = out.sample_stride;
  }
  work.weights = compiler.weights();
  work.offset = compiler.weights_offset();
  work.parts = parts_;
  const std::size_t count = work.conv->packed_floats(work.shape);
  work.sums = compiler.scratch(2 * padded(count) + padded(map_.channels));
  work.bias_sums = work.sums + padded(count);
  work.turned = work.bias_sums + padded(map_.channels);
  work.packed = work.sums;
  work.map = compiler.floats(std::size_t{map_.channels} * options_.pool.height * map_.width * kPad);
  work.dmap = compiler.floats(map_.size() * kPad);
  work.choices = std::size_t{map_.channels} * output_.width * kPad;
  work.choice =
      reinterpret_cast<std::uint8_t*>(compiler.floats(max_blocks * output_.height * work.choices / sizeof(float)));

  compiler.forward(Call([work](const Pass&) { work.forward(); }));
  compiler.backward(Call([work](const Pass& pass) { work.backward(pass); }));
  return out;
}

// A unit with its ties, as the compiler sees it.
class Tied : public Layer {
 public:
  Tied(const Conv& unit, const ConvTies& ties) : Layer(unit.name()), unit_(unit), ties_(ties) {}
  Shape output() const override { return unit_.output(); }
  std::vector<TensorSpec> tensors() const override { return unit_.tensors(); }
  std::size_t packed_size() const override { return unit_.packed_size(); }
  Request request(std::uint32_t batch) const override { return unit_.request(batch); }
  Activation compile(Compiler& compiler, const Activation& in, const Request& want) const override {
    return unit_.compile_tied(compiler, in, want, ties_);
  }

 private:
  const Conv& unit_;
  const ConvTies& ties_;
};

}  // namespace

Padding same_padding(Extent kernel) {
  return {(kernel.height - 1) / 2, (kernel.width - 1) / 2, kernel.height / 2, kernel.width / 2};
}

Shape conv_output(Shape input, const ConvOptions& options) {
  const auto extent = [&](std::uint32_t size, std::uint32_t kernel, std::uint32_t pool) -> std::uint32_t {
    return size < kernel ? 0 : ((size - kernel) / options.stride + 1) / pool;
  };
  const Padding& p = options.padding;
  return {extent(input.height + p.top + p.bottom, options.kernel.height, options.pool.height),
          extent(input.width + p.left + p.right, options.kernel.width, options.pool.width), options.channels};
}

std::unique_ptr<Layer> make_conv(std::string name, Shape input, const ConvOptions& options) {
  return std::make_unique<Conv>(std::move(name), input, options);
}

std::unique_ptr<Layer> tie(const Layer& unit, const ConvTies& ties) {
  const auto* conv = dynamic_cast<const Conv*>(&unit);
  MUSTER_CHECK(conv, "{} is not a convolution unit", unit.name());
  return std::make_unique<Tied>(*conv, ties);
}

}  // namespace muster
