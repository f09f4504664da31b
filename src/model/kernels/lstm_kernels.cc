#include "model/kernels/lstm_kernels.h"

#include "model/kernels/vector_math.h"

namespace muster::MUSTER_ISA_SPACE {
namespace {

// The last lanes of a gate overlap the next one: there, what was loaded is stored again. Gates are loaded before any of
// them is stored, and stored in order, so also gates narrower than a vector come out right.
static inline __attribute__((always_inline)) void store_gate(float* gate, Vec value, Vec loaded, bool whole,
                                                             VecInt inside) {
  store(gate, whole ? value : (inside ? value : loaded));
}

static inline __attribute__((always_inline)) VecInt lanes_below(std::size_t count) {
  VecInt lane{};
  for (int j = 0; j < kLanes; ++j) lane[j] = j;
  return lane < static_cast<int>(count);
}

void forward(std::size_t rows, std::size_t units, float* gates, std::size_t wide_stride, const float* c_before,
             float* c, float* tanh_c, float* h) {
  const std::size_t width = (units + 15) / 16 * 16;
  for (std::size_t r = 0; r < rows; ++r) {
    for (std::size_t at = 0; at < units; at += kLanes) {
      float* z = gates + r * wide_stride + at;
      const std::size_t state = r * width + at;
      const bool whole = at + kLanes <= units;
      const VecInt inside = lanes_below(units - at);
      const Vec zi = load(z);
      const Vec zf = load(z + units);
      const Vec zg = load(z + 2 * units);
      const Vec zo = load(z + 3 * units);
      const Vec i = logistic(zi);
      const Vec f = logistic(zf);
      const Vec g = hyperbolic_tangent(zg);
      const Vec o = logistic(zo);
      Vec cell = i * g;
      if (c_before) cell += f * load(c_before + state);
      const Vec t = hyperbolic_tangent(cell);
      store_gate(z, i, zi, whole, inside);
      store_gate(z + units, f, zf, whole, inside);
      store_gate(z + 2 * units, g, zg, whole, inside);
      store_gate(z + 3 * units, o, zo, whole, inside);
      store(c + state, cell);
      store(tanh_c + state, t);
      store(h + state, inside ? o * t : Vec{});
    }
  }
}

void backward(std::size_t rows, std::size_t units, float* gates, std::size_t wide_stride, const float* c_before,
              const float* tanh_c, const float* dh, bool carried, float* dc) {
  const std::size_t width = (units + 15) / 16 * 16;
  for (std::size_t r = 0; r < rows; ++r) {
    for (std::size_t at = 0; at < units; at += kLanes) {
      float* z = gates + r * wide_stride + at;
      const std::size_t state = r * width + at;
      const bool whole = at + kLanes <= units;
      const VecInt inside = lanes_below(units - at);
      const Vec i = load(z);
      const Vec f = load(z + units);
      const Vec g = load(z + 2 * units);
      const Vec o = load(z + 3 * units);
      const Vec t = load(tanh_c + state);
      const Vec up = load(dh + state);
      Vec cell = up * o * (1.0f - t * t);
      if (carried) cell += load(dc + state);
      const Vec before = c_before ? load(c_before + state) : Vec{};
      store_gate(z, cell * g * i * (1.0f - i), i, whole, inside);
      store_gate(z + units, cell * before * f * (1.0f - f), f, whole, inside);
      store_gate(z + 2 * units, cell * i * (1.0f - g * g), g, whole, inside);
      store_gate(z + 3 * units, up * t * o * (1.0f - o), o, whole, inside);
      store(dc + state, inside ? cell * f : Vec{});
    }
  }
}

}  // namespace

const LstmKernels& lstm_kernels() {
  static constexpr LstmKernels table{forward, backward};
  return table;
}

}  // namespace muster::MUSTER_ISA_SPACE
