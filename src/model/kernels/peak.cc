#include "model/kernels/peak.h"

#include "model/kernels/simd.h"

namespace muster::MUSTER_ISA_SPACE {
namespace {

// Enough chains to hide the latency of a multiply-add on two units, few enough to stay in registers with the factor.
constexpr int kChains = 12;

void multiply_add(std::size_t steps, float* sink) {
  const Vec factor = splat(0.999f + *sink * 0.0f);
  const Vec summand = splat(0.001f + *sink * 0.0f);
  Vec chain[kChains];
  for (int i = 0; i < kChains; ++i) chain[i] = splat(static_cast<float>(i));
  for (std::size_t step = 0; step < steps; ++step) {
#pragma GCC unroll 12
    for (int i = 0; i < kChains; ++i) chain[i] = chain[i] * factor + summand;
  }
  Vec sum{};
  for (int i = 0; i < kChains; ++i) sum += chain[i];
  *sink = add_lanes(sum);
}

}  // namespace

const PeakKernels& peak_kernels() {
  static constexpr PeakKernels table{multiply_add, 2.0 * kChains * kLanes};
  return table;
}

}  // namespace muster::MUSTER_ISA_SPACE
