#include "model/kernels/gru_kernels.h"

#include "model/kernels/vector_math.h"

namespace muster::MUSTER_ISA_SPACE {
namespace {

// The last lanes of a gate overlap the next one: there, what was loaded is stored again. Gates are loaded before any of
// them is stored, and stored in order, so also gates narrower than a vector come out right.
static inline __attribute__((always_inline)) void store_gate(float* gate, Vec value, Vec loaded, VecInt inside) {
  store(gate, inside ? value : loaded);
}

static inline __attribute__((always_inline)) VecInt lanes_below(std::size_t count) {
  VecInt lane{};
  for (int j = 0; j < kLanes; ++j) lane[j] = j;
  return lane < static_cast<int>(count < kLanes ? count : kLanes);
}

void forward(std::size_t rows, std::size_t units, float* gates, float* products, std::size_t wide_stride,
             const float* bias, const float* h_before, float* h) {
  const std::size_t width = (units + 15) / 16 * 16;
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t at = 0; at < units; at += kLanes) {
      float* a = gates + row * wide_stride + at;
      float* q = products + row * wide_stride + at;
      const VecInt inside = lanes_below(units - at);
      const Vec ar = load(a);
      const Vec az = load(a + units);
      const Vec an = load(a + 2 * units);
      const Vec qr = h_before ? load(q) : Vec{};
      const Vec qz = h_before ? load(q + units) : Vec{};
      const Vec loaded = load(q + 2 * units);
      const Vec m = (h_before ? loaded : Vec{}) + load(bias + at);
      const Vec r = logistic(ar + qr);
      const Vec z = logistic(az + qz);
      const Vec n = hyperbolic_tangent(an + r * m);
      Vec state = (1.0f - z) * n;
      if (h_before) state += z * load(h_before + row * width + at);
      store_gate(a, r, ar, inside);
      store_gate(a + units, z, az, inside);
      store_gate(a + 2 * units, n, an, inside);
      store_gate(q + 2 * units, m, loaded, inside);
      store(h + row * width + at, inside ? state : Vec{});
    }
  }
}

void backward(std::size_t rows, std::size_t units, float* gates, float* products, std::size_t wide_stride,
              const float* h_before, const float* dh, bool add, float* dh_before) {
  const std::size_t width = (units + 15) / 16 * 16;
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t at = 0; at < units; at += kLanes) {
      float* a = gates + row * wide_stride + at;
      float* q = products + row * wide_stride + at;
      const std::size_t state = row * width + at;
      const VecInt inside = lanes_below(units - at);
      const Vec r = load(a);
      const Vec z = load(a + units);
      const Vec n = load(a + 2 * units);
      const Vec qr = load(q);
      const Vec qz = load(q + units);
      const Vec m = load(q + 2 * units);
      const Vec up = load(dh + state);
      const Vec before = h_before ? load(h_before + state) : Vec{};
      const Vec dn = up * (1.0f - z) * (1.0f - n * n);
      const Vec dz = up * (before - n) * z * (1.0f - z);
      const Vec dr = dn * m * r * (1.0f - r);
      store_gate(a, dr, r, inside);
      store_gate(a + units, dz, z, inside);
      store_gate(a + 2 * units, dn, n, inside);
      store_gate(q, dr, qr, inside);
      store_gate(q + units, dz, qz, inside);
      store_gate(q + 2 * units, dn * r, m, inside);
      if (!dh_before) continue;
      const Vec down = inside ? up * z : Vec{};
      store(dh_before + state, add ? load(dh_before + state) + down : down);
    }
  }
}

}  // namespace

const GruKernels& gru_kernels() {
  static constexpr GruKernels table{forward, backward};
  return table;
}

}  // namespace muster::MUSTER_ISA_SPACE
