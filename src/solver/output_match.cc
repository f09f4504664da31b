#include "solver/output_match.h"

#include "model/kernels/discrepancy_kernels.h"

namespace muster {
namespace {

// 0.5 / s for the variances of the authors' code.
constexpr float kRates[] = {0.5e6f,   0.5e5f,    0.5e4f,    0.5e3f,    0.5e2f,    0.5e1f,    0.5f,
                            0.5f / 5, 0.5f / 10, 0.5f / 15, 0.5f / 20, 0.5f / 25, 0.5f / 30, 0.5f / 35,
                            0.5e-2f,  0.5e-3f,   0.5e-4f,   0.5e-5f,   0.5e-6f};

void grow(Floats& buffer, std::size_t count) {
  if (buffer.size() < count) buffer = Floats(count);
}

}  // namespace

std::span<const float> output_match_rates() {
  return kRates;
}

OutputHook OutputMatch::hook(double weight) {
  weight_ = weight;
  return {[](void* self, const OutputPair& outputs) {
            auto* const match = static_cast<OutputMatch*>(self);
            match->add(outputs, match->weight_);
          },
          this};
}

double OutputMatch::add(const OutputPair& outputs, double weight) {
  const DiscrepancyKernels& kernels = discrepancy_kernels();
  const std::size_t width = outputs.outputs;
  grow(scratch_, kernels.scratch_floats(outputs.batch, width));
  grow(gradient_, outputs.batch * width);
  const double value = kernels.squared({kRates, std::size(kRates)}, outputs.batch, width, outputs.stride,
                                       outputs.frozen, outputs.trained, scratch_.data(), gradient_.data());
  if (!(value > kFloor)) return value;
  const auto factor = static_cast<float>(weight * outputs.batch);
  for (std::size_t b = 0; b < outputs.batch; ++b) {
    float* const out = outputs.gradient + b * outputs.stride;
    for (std::size_t c = 0; c < width; ++c) out[c] += factor * gradient_.data()[b * width + c];
  }
  return value;
}

}  // namespace muster
