// One vector register of floats, in the words of GCC's vector extensions, for kernel files only. A kernel file is
// compiled once per instruction set with MUSTER_ISA_SPACE naming its namespace; nothing here may leave it, and kernel
// files use no templates of the standard library, because the linker would merge copies compiled for different sets.
#pragma once

#include <cstddef>
#include <cstdint>

#ifndef MUSTER_ISA_SPACE
#error "compile kernel files with -DMUSTER_ISA_SPACE=baseline|avx2|avx512"
#endif

namespace muster::MUSTER_ISA_SPACE {

#if defined(__AVX512F__)
constexpr int kLanes = 16;
constexpr int kRegisters = 32;
#elif defined(__AVX2__)
constexpr int kLanes = 8;
constexpr int kRegisters = 16;
#elif defined(__aarch64__)
constexpr int kLanes = 4;
constexpr int kRegisters = 32;
#else
constexpr int kLanes = 4;
constexpr int kRegisters = 16;
#endif

typedef float Vec __attribute__((vector_size(kLanes * 4)));
typedef float VecUnaligned __attribute__((vector_size(kLanes * 4), aligned(4), may_alias));

static inline __attribute__((always_inline)) Vec load(const float* p) {
  return *reinterpret_cast<const VecUnaligned*>(p);
}
static inline __attribute__((always_inline)) void store(float* p, Vec v) {
  *reinterpret_cast<VecUnaligned*>(p) = v;
}
static inline __attribute__((always_inline)) Vec splat(float x) {
  return x - Vec{};
}

typedef int VecInt __attribute__((vector_size(kLanes * 4)));

// Lane j becomes lane index[j] of a and b side by side. The index must be known once everything is inlined.
static inline __attribute__((always_inline)) Vec shuffle(Vec a, Vec b, VecInt index) {
#if defined(__clang__)
  // clang lacks the builtin; it compiles these files only for fuzzing, where speed is no concern.
  Vec out{};
  for (int j = 0; j < kLanes; ++j) out[j] = index[j] < kLanes ? a[index[j]] : b[index[j] - kLanes];
  return out;
#else
  return __builtin_shuffle(a, b, index);
#endif
}

// The sum of all lanes, halves onto halves.
static inline __attribute__((always_inline)) float add_lanes(Vec v) {
#pragma GCC unroll 4
  for (int half = kLanes / 2; half > 0; half /= 2) {
    VecInt other{};
    for (int j = 0; j < kLanes; ++j) other[j] = j ^ half;
    v += shuffle(v, v, other);
  }
  return v[0];
}

}  // namespace muster::MUSTER_ISA_SPACE
