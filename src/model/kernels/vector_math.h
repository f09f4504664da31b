// exp, the logistic function and tanh on vectors, for kernel files only. Relative error of exp below 2e-7; NaN in gives
// NaN out.
#pragma once

#include "model/kernels/simd.h"

namespace muster::MUSTER_ISA_SPACE {

static inline __attribute__((always_inline)) Vec magnitude(Vec x) {
  return reinterpret_cast<Vec>(reinterpret_cast<VecInt>(x) & 0x7fffffff);
}

// Precondition: x <= 0 or NaN. Below -87 the result is zero: it would be subnormal soon.
static inline __attribute__((always_inline)) Vec exp_nonpositive(Vec x) {
  constexpr float kRound = 12582912.0f;  // 1.5 * 2^23: adding it leaves the nearest integer in the low bits
  const Vec t = x * 1.44269504088896f + kRound;
  const Vec n = t - kRound;
  // ln 2 in two parts, the first exact in few bits, so that x - n ln 2 keeps all of x.
  const Vec r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
  // Taylor's series to degree 7: the remainder at |r| = ln(2) / 2 is below 6e-9.
  Vec p = splat(1.0f / 5040);
  p = p * r + 1.0f / 720;
  p = p * r + 1.0f / 120;
  p = p * r + 1.0f / 24;
  p = p * r + 1.0f / 6;
  p = p * r + 0.5f;
  p = p * r + 1.0f;
  p = p * r + 1.0f;
  // Unsigned: far below -87 this wraps, and is not used.
  typedef unsigned VecUnsigned __attribute__((vector_size(kLanes * 4)));
  const VecUnsigned exponent = (reinterpret_cast<VecUnsigned>(t) + 127u) << 23;
  const Vec result = p * reinterpret_cast<Vec>(exponent);
  // Order of the comparison: a NaN must take the second branch.
  return x < -87.0f ? Vec{} : result;
}

static inline __attribute__((always_inline)) Vec logistic(Vec x) {
  const Vec e = exp_nonpositive(-magnitude(x));
  const Vec top = x < 0.0f ? e : splat(1.0f);
  return top / (1.0f + e);
}

static inline __attribute__((always_inline)) Vec hyperbolic_tangent(Vec x) {
  const Vec a = magnitude(x);
  const Vec e = exp_nonpositive(-2.0f * a);
  const Vec far = (1.0f - e) / (1.0f + e);
  // Near zero 1 - e cancels. Cephes' minimax polynomial for |x| < 0.625.
  const Vec z = x * x;
  Vec p = splat(-5.70498872745e-3f);
  p = p * z + 2.06390887954e-2f;
  p = p * z - 5.37397155531e-2f;
  p = p * z + 1.33314422036e-1f;
  p = p * z - 3.33332819422e-1f;
  const Vec near = x + x * (z * p);
  return a < 0.625f ? near : (x < 0.0f ? -far : far);
}

}  // namespace muster::MUSTER_ISA_SPACE
