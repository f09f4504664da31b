// The elementwise part of an LSTM cell. The gates i, f, g, o of a row lie side by side, [4 * units], in one buffer that
// holds in turn the products, the activated gates, and in the backward pass the gradient of the products. Its rows are
// `wide_stride` floats apart, at least 16 more than the gates need; states are padded to 16 units.
#pragma once

#include <cstddef>

#include "model/kernels/dispatch.h"

namespace muster {

struct LstmKernels {
  // Activates the gates in place; c = f c_before + i g; h = o tanh(c). c_before null: zero. Padding of h stays as it
  // is.
  void (*forward)(std::size_t rows, std::size_t units, float* gates, std::size_t wide_stride, const float* c_before,
                  float* c, float* tanh_c, float* h);
  // Replaces the gates by the gradient of the products, from dh and the dc of the step after (`carried`: in dc, else
  // zero), and leaves the dc for the step before. Padding of dh must be zero.
  void (*backward)(std::size_t rows, std::size_t units, float* gates, std::size_t wide_stride, const float* c_before,
                   const float* tanh_c, const float* dh, bool carried, float* dc);
};

}  // namespace muster

MUSTER_DECLARE_KERNELS(LstmKernels, lstm_kernels)
