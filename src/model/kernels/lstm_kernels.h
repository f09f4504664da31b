// The elementwise part of an LSTM cell. Gates i, f, g, o lie side by side in products ([4 * units], rows
// `wide_stride` floats apart, with 16 floats to spare at the end) and each padded to 16 in what is kept for the
// backward pass ([4][padded units]).
#pragma once

#include <cstddef>

#include "model/kernels/dispatch.h"

namespace muster {

struct LstmKernels {
  // gates = activated products; c = f c_before + i g; h = o tanh(c). c_before null: zero.
  void (*forward)(std::size_t rows, std::size_t units, const float* products, std::size_t wide_stride, float* gates,
                  const float* c_before, float* c, float* tanh_c, float* h);
  // From dh and the dc carried from the step after (`carried`: dc holds it, else zero) to the gradient of the products
  // and the dc for the step before. Padding of dh must be zero.
  void (*backward)(std::size_t rows, std::size_t units, const float* gates, const float* c_before, const float* tanh_c,
                   const float* dh, bool carried, float* dc, float* d_products, std::size_t wide_stride);
};

}  // namespace muster

MUSTER_DECLARE_KERNELS(LstmKernels, lstm_kernels)
