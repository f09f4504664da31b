#include "model/kernels/elementwise.h"

#include "model/kernels/simd.h"

namespace muster::MUSTER_ISA_SPACE {
namespace {

// Plain loops: the compiler vectorises them for the instruction set of this copy.

void scale(std::size_t count, float keep, float* w) {
  for (std::size_t i = 0; i < count; ++i) w[i] *= keep;
}

void scale_add(std::size_t count, float keep, float* __restrict w, float rate, const float* __restrict drift) {
  for (std::size_t i = 0; i < count; ++i) w[i] = keep * w[i] + rate * drift[i];
}

template <bool kDrift>
void momentum_loop(std::size_t count, float rate, float momentum, float pull, const float* __restrict g,
                   const float* __restrict drift, float* __restrict m, float* __restrict w) {
  for (std::size_t i = 0; i < count; ++i) {
    float total = g[i] + pull * w[i];
    if constexpr (kDrift) total -= drift[i];
    m[i] = momentum * m[i] + total;
    w[i] -= rate * m[i];
  }
}

void momentum(std::size_t count, float rate, float momentum, float pull, const float* g, const float* drift, float* m,
              float* w) {
  if (drift) {
    momentum_loop<true>(count, rate, momentum, pull, g, drift, m, w);
  } else {
    momentum_loop<false>(count, rate, momentum, pull, g, drift, m, w);
  }
}

template <bool kDrift>
void adam_loop(std::size_t count, float rate1, float inverse2, float beta1, float beta2, float epsilon, float pull,
               const float* __restrict g, const float* __restrict drift, float* __restrict m, float* __restrict v,
               float* __restrict w) {
  for (std::size_t i = 0; i < count; ++i) {
    float total = g[i] + pull * w[i];
    if constexpr (kDrift) total -= drift[i];
    m[i] = beta1 * m[i] + (1 - beta1) * total;
    v[i] = beta2 * v[i] + (1 - beta2) * total * total;
    w[i] -= rate1 * m[i] / (__builtin_sqrtf(v[i] * inverse2) + epsilon);
  }
}

void adam(std::size_t count, float rate1, float inverse2, float beta1, float beta2, float epsilon, float pull,
          const float* g, const float* drift, float* m, float* v, float* w) {
  if (drift) {
    adam_loop<true>(count, rate1, inverse2, beta1, beta2, epsilon, pull, g, drift, m, v, w);
  } else {
    adam_loop<false>(count, rate1, inverse2, beta1, beta2, epsilon, pull, g, drift, m, v, w);
  }
}

bool all_finite(std::size_t count, const float* values) {
  // Exponent bits all ones: infinite or NaN. Integers, so that no floating-point assumption can remove the test.
  std::uint32_t bad = 0;
  for (std::size_t i = 0; i < count; ++i) {
    std::uint32_t bits;
    __builtin_memcpy(&bits, values + i, sizeof bits);
    bad |= static_cast<std::uint32_t>((bits & 0x7f800000u) == 0x7f800000u);
  }
  return bad == 0;
}

}  // namespace

const ElementwiseKernels& elementwise_kernels() {
  static constexpr ElementwiseKernels table{scale, scale_add, momentum, adam, all_finite};
  return table;
}

}  // namespace muster::MUSTER_ISA_SPACE
