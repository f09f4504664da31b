#include "model/layers/lstm.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "model/kernels/dense_kernels.h"
#include "model/kernels/lstm_kernels.h"
#include "model/layers/recurrent.h"
#include "model/layers/time_major.h"

namespace muster {
namespace {

// Everything over time is kept time-major, [words][batch][...]: then the input product of all words and the gradient of
// both matrices are one product each, and the recurrent product of a word reads and writes whole blocks.
class Lstm : public Recurrent {
 public:
  Lstm(std::string name, Shape input, std::uint32_t units, bool every_word)
      : Recurrent(std::move(name), input, units, every_word, {.gates = 4}) {}

  Activation compile(Compiler& compiler, const Activation& in, const Request& want) const override {
    Work work;
    work.dense = &dense_kernels();
    work.cell = &lstm_kernels();
    work.input = input_;
    work.recurrent = recurrent_;
    work.words = words_;
    work.batch = compiler.batch();
    work.units = units_;
    work.every_word = every_word_;
    work.width = padded(units_);
    work.wide = padded(4 * units_) + kPad;
    work.weights = compiler.weights();
    work.offset = compiler.weights_offset();

    const std::size_t places = std::size_t{words_} * compiler.max_batch();
    const TimeMajor lines = read_time_major(compiler, in);
    work.x = lines.x;
    work.dx = lines.dx;
    work.x_stride = lines.stride;
    work.gates = compiler.floats(places * work.wide);
    work.c = compiler.floats(places * work.width);
    work.tanh_c = compiler.floats(places * work.width);
    work.h = compiler.floats(places * work.width);
    work.dh = compiler.floats(places * work.width);
    work.dc = compiler.scratch(compiler.max_batch() * work.width + recurrent_.out * work.width +
                               2 * kPad * recurrent_.out_padded);
    work.zeros = compiler.floats(work.width);

    compiler.forward(Call([work](const Pass&) { work.forward(); }));
    compiler.backward(Call([work](const Pass& pass) { work.backward(pass); }));
    return_gradient(compiler, in, lines);
    return deliver_time_major(compiler, output(), words_, work.h, work.dh, want);
  }

 private:
  struct Work {
    const DenseKernels* dense;
    const LstmKernels* cell;
    DenseShape input;
    DenseShape recurrent;
    std::uint32_t words;
    std::uint32_t batch;
    std::uint32_t units;
    bool every_word;
    std::size_t width;  // of a state
    std::size_t wide;   // of the gates
    const float* weights;
    std::size_t offset;
    const float* x;
    float* dx;
    std::size_t x_stride;
    float* gates;  // products, then activated, then the gradient of the products
    float* c;
    float* tanh_c;
    float* h;
    float* dh;
    float* dc;  // scratch: the carried gradient, the transposed recurrent matrix, a panel
    const float* zeros;

    void forward() const {
      const float* bias = weights + input.packed() + recurrent.packed();
      dense->forward(input, std::size_t{words} * batch, x, x_stride, weights, bias, gates, wide, false);
      for (std::size_t t = 0; t < words; ++t) {
        const std::size_t at = t * batch * width;
        const std::size_t before = at - batch * width;
        float* z = gates + t * batch * wide;
        if (t > 0) {
          dense->forward(recurrent, batch, h + before, width, weights + input.packed(), nullptr, z, wide, false);
        }
        cell->forward(batch, units, z, wide, t > 0 ? c + before : nullptr, c + at, tanh_c + at, h + at);
      }
    }

    void backward(const Pass& pass) const {
      const std::size_t rows = std::size_t{words} * batch;
      float* transposed = dc + batch * width;
      float* panel = transposed + recurrent.out * width;
      dense->transpose(recurrent, weights + input.packed(), transposed);
      // The last few units, if their panel would hold mostly zeros.
      constexpr auto kPanel = static_cast<std::uint32_t>(2 * kPad);
      const std::uint32_t rest = units > kPanel && units % kPanel <= 4 ? units % kPanel : 0;
      const DenseShape turned{.in = recurrent.out,
                              .out = units - rest,
                              .out_padded = static_cast<std::uint32_t>(padded(units - rest)),
                              .block = recurrent.out};
      for (std::size_t t = words; t-- > 0;) {
        const std::size_t at = t * batch * width;
        const std::size_t before = at - batch * width;
        float* dz = gates + t * batch * wide;
        cell->backward(batch, units, dz, wide, t > 0 ? c + before : nullptr, tanh_c + at, dh + at, t + 1 < words, dc);
        // Where every word's state has a reader its gradient is already there; else this is all of it.
        if (t > 0) {
          dense->forward(turned, batch, dz, wide, transposed, every_word ? nullptr : zeros, dh + before, width, false);
          if (rest > 0) {
            dense->backward_few(recurrent, units - rest, units, batch, dz, wide, weights + input.packed(), every_word,
                                dh + before, width);
          }
        }
      }
      const std::size_t end = input.packed() + recurrent.packed();
      if (dx) dense->backward(input, 0, 1, rows, gates, wide, weights, nullptr, dx, x_stride, panel);
      dense->update(input, 0, 1, rows, x, x_stride, gates, wide, pass.scale, begin_update(pass, offset, input.packed()),
                    nullptr);
      float* target = begin_update(pass, offset + input.packed(), recurrent.packed());
      if (words > 1) {
        dense->update(recurrent, 0, 1, rows - batch, h, width, gates + batch * wide, wide, pass.scale, target, nullptr);
      }
      dense->update_bias(rows, input.out_padded, gates, wide, pass.scale,
                         begin_update(pass, offset + end, input.out_padded));
    }
  };
};

}  // namespace

std::unique_ptr<Layer> make_lstm(std::string name, Shape input, std::uint32_t units, bool every_word) {
  return std::make_unique<Lstm>(std::move(name), input, units, every_word);
}

}  // namespace muster
