// How fast this processor multiplies and adds when nothing is in the way: the roof that benches compare with.
#pragma once

#include <cstddef>

#include "model/kernels/dispatch.h"

namespace muster {

struct PeakKernels {
  // Runs `steps` rounds of independent multiply-adds in registers; *sink keeps the compiler honest.
  void (*multiply_add)(std::size_t steps, float* sink);
  double flops_per_step;
};

}  // namespace muster

MUSTER_DECLARE_KERNELS(PeakKernels, peak_kernels)
