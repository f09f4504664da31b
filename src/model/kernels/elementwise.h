// Elementwise work on packed parameters: the step rules, copies between padded layouts, and the search for values that
// are not finite. Ranges need no alignment and may have any length.
#pragma once

#include <cstddef>

#include "model/kernels/dispatch.h"

namespace muster {

struct ElementwiseKernels {
  // w *= keep
  void (*scale)(std::size_t count, float keep, float* w);
  // w = keep * w + rate * drift
  void (*scale_add)(std::size_t count, float keep, float* w, float rate, const float* drift);
  // total = g + pull * w - drift (drift may be null); m = momentum * m + total; w -= rate * m
  void (*momentum)(std::size_t count, float rate, float momentum, float pull, const float* g, const float* drift,
                   float* m, float* w);
  // total as above; m = beta1 m + (1 - beta1) total; v = beta2 v + (1 - beta2) total^2;
  // w -= rate1 * m / (sqrt(v * inverse2) + epsilon), rate1 = rate / (1 - beta1^t), inverse2 = 1 / (1 - beta2^t)
  void (*adam)(std::size_t count, float rate1, float inverse2, float beta1, float beta2, float epsilon, float pull,
               const float* g, const float* drift, float* m, float* v, float* w);
  bool (*all_finite)(std::size_t count, const float* values);
};

}  // namespace muster

MUSTER_DECLARE_KERNELS(ElementwiseKernels, elementwise_kernels)
