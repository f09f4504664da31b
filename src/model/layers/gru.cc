#include "model/layers/gru.h"

#include <algorithm>
#include <cstring>

#include "model/kernels/dense_kernels.h"
#include "model/kernels/gru_kernels.h"
#include "model/layers/time_major.h"

namespace muster {
namespace {

DenseShape matrix(std::uint32_t in, std::uint32_t out) {
  return {.in = in, .out = out, .out_padded = static_cast<std::uint32_t>(padded(out)), .block = in};
}

struct Work {
  const DenseKernels* dense;
  const GruKernels* cell;
  DenseShape input;
  DenseShape recurrent;
  std::uint32_t words;
  std::uint32_t batch;
  std::uint32_t units;
  bool every_word;
  std::size_t width;  // of a state
  std::size_t wide;   // of gates and products
  const float* weights;
  std::size_t offset;
  TimeMajor in;
  float* gates;     // products with the input, then activated, then the gradient of the products
  float* products;  // with the state before; then their gradient
  float* h;
  float* dh;
  float* scratch;  // the transposed recurrent matrix, a panel
  const float* zeros;

  [[nodiscard]] std::size_t recurrent_at() const { return input.packed(); }
  [[nodiscard]] std::size_t bias_at() const { return recurrent_at() + recurrent.packed(); }
  [[nodiscard]] std::size_t recurrent_bias_at() const { return bias_at() + input.out_padded; }

  void forward() const {
    dense->forward(input, std::size_t{words} * batch, in.x, in.stride, weights, weights + bias_at(), gates, wide,
                   false);
    for (std::size_t t = 0; t < words; ++t) {
      float* q = products + t * batch * wide;
      const float* before = t > 0 ? h + (t - 1) * batch * width : nullptr;
      if (before) dense->forward(recurrent, batch, before, width, weights + recurrent_at(), zeros, q, wide, false);
      cell->forward(batch, units, gates + t * batch * wide, q, wide, weights + recurrent_bias_at(), before,
                    h + t * batch * width);
    }
  }

  void backward(const Pass& pass) const {
    const std::size_t rows = std::size_t{words} * batch;
    float* panel = scratch + recurrent.out * width;
    dense->transpose(recurrent, weights + recurrent_at(), scratch);
    const DenseShape turned{
        .in = recurrent.out, .out = units, .out_padded = static_cast<std::uint32_t>(width), .block = recurrent.out};
    for (std::size_t t = words; t-- > 0;) {
      const std::size_t at = t * batch * width;
      float* q = products + t * batch * wide;
      float* dh_before = t > 0 ? dh + at - batch * width : nullptr;
      // Where every word's state has a reader its gradient is already there.
      cell->backward(batch, units, gates + t * batch * wide, q, wide, t > 0 ? h + at - batch * width : nullptr, dh + at,
                     every_word, dh_before);
      if (dh_before) dense->forward(turned, batch, q, wide, scratch, nullptr, dh_before, width, false);
    }
    if (in.dx) dense->backward(input, 0, 1, rows, gates, wide, weights, nullptr, in.dx, in.stride, panel);
    dense->update(input, 0, 1, rows, in.x, in.stride, gates, wide, pass.scale,
                  begin_update(pass, offset, input.packed()), nullptr);
    float* target = begin_update(pass, offset + recurrent_at(), recurrent.packed());
    if (words > 1) {
      dense->update(recurrent, 0, 1, rows - batch, h, width, products + batch * wide, wide, pass.scale, target,
                    nullptr);
    }
    dense->update_bias(rows, input.out_padded, gates, wide, pass.scale,
                       begin_update(pass, offset + bias_at(), input.out_padded));
    update_recurrent_bias(rows, pass.scale, begin_update(pass, offset + recurrent_bias_at(), width));
  }

  void update_recurrent_bias(std::size_t rows, float scale, float* target) const {
    for (std::size_t row = 0; row < rows; ++row) {
      const float* slope = products + row * wide + 2 * units;
      for (std::size_t i = 0; i < units; ++i) target[i] += scale * slope[i];
    }
  }
};

class Gru : public Layer {
 public:
  Gru(std::string name, Shape input, std::uint32_t units, bool every_word)
      : Layer(std::move(name)),
        words_(input.width),
        units_(units),
        every_word_(every_word),
        input_(matrix(input.channels, 3 * units)),
        recurrent_(matrix(units, 3 * units)) {}

  Shape output() const override { return {1, every_word_ ? words_ : 1, units_}; }
  std::uint64_t forward_macs() const override {
    return std::uint64_t{words_} * 3 * units_ * (std::uint64_t{input_.in} + units_);
  }
  Request request(std::uint32_t) const override { return {Format::kChannels, 0}; }

  std::vector<TensorSpec> tensors() const override {
    const std::uint32_t gates = 3 * units_;
    const std::uint32_t fan_in = input_.in + units_;
    return {{name() + ".input_weight", {input_.in, gates}, TensorRole::kWeight, units_, fan_in, gates},
            {name() + ".recurrent_weight", {units_, gates}, TensorRole::kWeight, units_, fan_in, gates},
            {name() + ".bias", {gates}, TensorRole::kBias, units_, fan_in, gates},
            {name() + ".recurrent_bias", {units_}, TensorRole::kBias, units_, fan_in, gates}};
  }

  std::size_t packed_size() const override {
    return input_.packed() + recurrent_.packed() + input_.out_padded + padded(units_);
  }

  void pack(const float* flat, float* packed) const override {
    const std::size_t gates = input_.out;
    dense_kernels().pack(input_, flat, packed);
    dense_kernels().pack(recurrent_, flat + input_.in * gates, packed + input_.packed());
    float* bias = packed + input_.packed() + recurrent_.packed();
    std::fill(bias, packed + packed_size(), 0.0f);
    const float* from = flat + (input_.in + units_) * gates;
    std::memcpy(bias, from, gates * sizeof(float));
    std::memcpy(bias + input_.out_padded, from + gates, units_ * sizeof(float));
  }

  void unpack(const float* packed, float* flat) const override {
    const std::size_t gates = input_.out;
    dense_kernels().unpack(input_, packed, flat);
    dense_kernels().unpack(recurrent_, packed + input_.packed(), flat + input_.in * gates);
    const float* bias = packed + input_.packed() + recurrent_.packed();
    float* to = flat + (input_.in + units_) * gates;
    std::memcpy(to, bias, gates * sizeof(float));
    std::memcpy(to + gates, bias + input_.out_padded, units_ * sizeof(float));
  }

  Activation compile(Compiler& compiler, const Activation& in, const Request& want) const override {
    const std::size_t places = std::size_t{words_} * compiler.max_batch();
    Work work{};
    work.dense = &dense_kernels();
    work.cell = &gru_kernels();
    work.input = input_;
    work.recurrent = recurrent_;
    work.words = words_;
    work.batch = compiler.batch();
    work.units = units_;
    work.every_word = every_word_;
    work.width = padded(units_);
    work.wide = padded(3 * units_) + kPad;
    work.weights = compiler.weights();
    work.offset = compiler.weights_offset();
    work.in = read_time_major(compiler, in);
    work.gates = compiler.floats(places * work.wide);
    work.products = compiler.floats(places * work.wide);
    work.h = compiler.floats(places * work.width);
    work.dh = compiler.floats(places * work.width);
    work.scratch = compiler.scratch(recurrent_.out * work.width + 2 * kPad * recurrent_.out_padded);
    work.zeros = compiler.floats(input_.out_padded);

    compiler.forward(Call([work](const Pass&) { work.forward(); }));
    compiler.backward(Call([work](const Pass& pass) { work.backward(pass); }));
    return_gradient(compiler, in, work.in);
    return deliver_time_major(compiler, output(), words_, work.h, work.dh, want);
  }

 private:
  std::uint32_t words_;
  std::uint32_t units_;
  bool every_word_;
  DenseShape input_;
  DenseShape recurrent_;
};

}  // namespace

std::unique_ptr<Layer> make_gru(std::string name, Shape input, std::uint32_t units, bool every_word) {
  return std::make_unique<Gru>(std::move(name), input, units, every_word);
}

}  // namespace muster
