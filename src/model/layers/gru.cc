#include "model/layers/gru.h"

#include <algorithm>
#include <cstring>

#include "model/kernels/dense_kernels.h"
#include "model/kernels/gru_kernels.h"
#include "model/layers/recurrent.h"
#include "model/layers/time_major.h"

namespace muster {
namespace {

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

class Gru : public Recurrent {
 public:
  Gru(std::string name, Shape input, std::uint32_t units, bool every_word)
      : Recurrent(std::move(name), input, units, every_word, {.gates = 3, .recurrent_bias = true}) {}

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
};

}  // namespace

std::unique_ptr<Layer> make_gru(std::string name, Shape input, std::uint32_t units, bool every_word) {
  return std::make_unique<Gru>(std::move(name), input, units, every_word);
}

}  // namespace muster
