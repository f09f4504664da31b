// The elementwise part of a GRU cell, with PyTorch's gates r, z, n side by side, [3 * units]:
//   r = logistic(a_r + q_r), z = logistic(a_z + q_z), m = q_n + bias, n = tanh(a_n + r m), h = (1 - z) n + z h_before
// where a is the product with the input and q with the state before. Rows of gates and products are `wide_stride`
// floats apart, at least 16 more than they need; states are padded to 16 units.
#pragma once

#include <cstddef>

#include "model/kernels/dispatch.h"

namespace muster {

struct GruKernels {
  // Activates the gates in place; leaves m in the last third of `products`. h_before null: zero, and q is too.
  void (*forward)(std::size_t rows, std::size_t units, float* gates, float* products, std::size_t wide_stride,
                  const float* bias, const float* h_before, float* h);
  // Replaces gates by the gradient of a, and products by that of q, from dh. Unless null, dh_before is
  // overwritten by dh z, or with `add` that is added.
  void (*backward)(std::size_t rows, std::size_t units, float* gates, float* products, std::size_t wide_stride,
                   const float* h_before, const float* dh, bool add, float* dh_before);
};

}  // namespace muster

MUSTER_DECLARE_KERNELS(GruKernels, gru_kernels)
