#include "model/layers/embedding.h"

#include <cstring>

#include "base/check.h"
#include "model/kernels/plane_kernels.h"
#include "model/layers/time_major.h"

namespace muster {
namespace {

struct Table {
  const float* ids;  // of the network's input
  std::size_t ids_stride;
  std::uint32_t vocabulary;
  std::uint32_t words;
  std::uint32_t batch;
  std::size_t width;

  [[nodiscard]] std::size_t row(std::uint32_t sample, std::uint32_t word) const {
    const float id = ids[sample * ids_stride + word];
    // Also false for NaN.
    return id >= 0 && id < static_cast<float>(vocabulary) ? static_cast<std::size_t>(id) : 0;
  }

  // work(row of the table, line of the output), always in the same order: sums must be reproducible.
  template <typename Work>
  void each(const Work& work) const {
    std::size_t line = 0;
    for (std::uint32_t t = 0; t < words; ++t) {
      for (std::uint32_t b = 0; b < batch; ++b, ++line) work(row(b, t) * width, line * width);
    }
  }
};

class Embedding : public Layer {
 public:
  Embedding(std::string name, Shape input, std::uint32_t vocabulary, std::uint32_t dimension)
      : Layer(std::move(name)), words_(input.width), vocabulary_(vocabulary), dimension_(dimension) {
    MUSTER_CHECK(input.height == 1 && input.channels == 1 && vocabulary >= 1, "{}: {} x {} x {} token ids of {}",
                 this->name(), input.height, input.width, input.channels, vocabulary);
  }

  Shape output() const override { return {1, words_, dimension_}; }
  Request request(std::uint32_t) const override { return {Format::kChannels, 0}; }
  std::vector<TensorSpec> tensors() const override {
    return {{name() + ".weight", {vocabulary_, dimension_}, TensorRole::kTable, 1, vocabulary_, dimension_}};
  }
  std::size_t packed_size() const override { return vocabulary_ * padded(dimension_); }
  void pack(const float* flat, float* packed) const override {
    const std::size_t width = padded(dimension_);
    std::memset(packed, 0, packed_size() * sizeof(float));
    for (std::size_t i = 0; i < vocabulary_; ++i) {
      std::memcpy(packed + i * width, flat + i * dimension_, dimension_ * sizeof(float));
    }
  }
  void unpack(const float* packed, float* flat) const override {
    const std::size_t width = padded(dimension_);
    for (std::size_t i = 0; i < vocabulary_; ++i) {
      std::memcpy(flat + i * dimension_, packed + i * width, dimension_ * sizeof(float));
    }
  }

  Activation compile(Compiler& compiler, const Activation& in, const Request& want) const override {
    MUSTER_CHECK(!in.gradient && in.pixel_stride == 1, "{} reads the network's input", name());
    const Table table{.ids = in.data,
                      .ids_stride = in.sample_stride,
                      .vocabulary = vocabulary_,
                      .words = words_,
                      .batch = compiler.batch(),
                      .width = padded(dimension_)};
    const float* weights = compiler.weights();
    const std::size_t offset = compiler.weights_offset();
    const std::size_t size = packed_size();
    const PlaneKernels* kernels = &plane_kernels();
    const std::size_t count = words_ * compiler.max_batch() * table.width;
    float* out = compiler.floats(count);
    float* gradient = compiler.floats(count);
    compiler.forward(Call([=](const Pass&) {
      table.each([&](std::size_t row, std::size_t line) {
        std::memcpy(out + line, weights + row, table.width * sizeof(float));
      });
    }));
    compiler.backward(Call([=](const Pass& pass) {
      float* target = begin_update(pass, offset, size);
      table.each([&](std::size_t row, std::size_t line) {
        kernels->add_scaled(table.width, pass.scale, gradient + line, target + row);
      });
    }));
    return deliver_time_major(compiler, output(), words_, out, gradient, want);
  }

 private:
  std::uint32_t words_;
  std::uint32_t vocabulary_;
  std::uint32_t dimension_;
};

}  // namespace

std::unique_ptr<Layer> make_embedding(std::string name, Shape input, std::uint32_t vocabulary,
                                      std::uint32_t dimension) {
  return std::make_unique<Embedding>(std::move(name), input, vocabulary, dimension);
}

}  // namespace muster
