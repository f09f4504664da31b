#include "model/kernels/lstm_kernels.h"

#include "model/kernels/vector_math.h"

namespace muster::MUSTER_ISA_SPACE {
namespace {

void forward(std::size_t rows, std::size_t units, const float* products, std::size_t wide_stride, float* gates,
             const float* c_before, float* c, float* tanh_c, float* h) {
  const std::size_t width = (units + 15) / 16 * 16;
  VecInt lane{};
  for (int j = 0; j < kLanes; ++j) lane[j] = j;
  for (std::size_t r = 0; r < rows; ++r) {
    const float* z = products + r * wide_stride;
    float* gate = gates + r * 4 * width;
    const std::size_t row = r * width;
    for (std::size_t at = 0; at < width; at += kLanes) {
      // Beyond the units these loads see the next gate: finite, and masked out of h below.
      const std::size_t from = at < units ? at : 0;
      const Vec i = logistic(load(z + from));
      const Vec f = logistic(load(z + units + from));
      const Vec g = hyperbolic_tangent(load(z + 2 * units + from));
      const Vec o = logistic(load(z + 3 * units + from));
      Vec cell = i * g;
      if (c_before) cell += f * load(c_before + row + at);
      const Vec t = hyperbolic_tangent(cell);
      const VecInt inside = lane < static_cast<int>(units) - static_cast<int>(at);
      store(gate + at, i);
      store(gate + width + at, f);
      store(gate + 2 * width + at, g);
      store(gate + 3 * width + at, o);
      store(c + row + at, cell);
      store(tanh_c + row + at, t);
      store(h + row + at, inside ? o * t : Vec{});
    }
  }
}

void backward(std::size_t rows, std::size_t units, const float* gates, const float* c_before, const float* tanh_c,
              const float* dh, bool carried, float* dc, float* d_products, std::size_t wide_stride) {
  const std::size_t width = (units + 15) / 16 * 16;
  const std::size_t used = (units + kLanes - 1) / kLanes * kLanes;
  for (std::size_t r = 0; r < rows; ++r) {
    const float* gate = gates + r * 4 * width;
    float* d = d_products + r * wide_stride;
    const std::size_t row = r * width;
    // From the last lanes to the first, gates in order: what a store spills into the next gate is overwritten.
    for (std::size_t at = used; at > 0;) {
      at -= kLanes;
      const Vec i = load(gate + at);
      const Vec f = load(gate + width + at);
      const Vec g = load(gate + 2 * width + at);
      const Vec o = load(gate + 3 * width + at);
      const Vec t = load(tanh_c + row + at);
      const Vec up = load(dh + row + at);
      Vec cell = up * o * (1.0f - t * t);
      if (carried) cell += load(dc + row + at);
      const Vec before = c_before ? load(c_before + row + at) : Vec{};
      store(d + at, cell * g * i * (1.0f - i));
      store(d + units + at, cell * before * f * (1.0f - f));
      store(d + 2 * units + at, cell * i * (1.0f - g * g));
      store(d + 3 * units + at, up * t * o * (1.0f - o));
      store(dc + row + at, cell * f);
    }
  }
}

}  // namespace

const LstmKernels& lstm_kernels() {
  static constexpr LstmKernels table{forward, backward};
  return table;
}

}  // namespace muster::MUSTER_ISA_SPACE
