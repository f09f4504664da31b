#include "model/kernels/loss.h"

#include "model/kernels/vector_math.h"

namespace muster::MUSTER_ISA_SPACE {
namespace {

static inline VecInt lane_numbers() {
  VecInt numbers{};
  for (int j = 0; j < kLanes; ++j) numbers[j] = j;
  return numbers;
}

// Logits [at, at + kLanes) of a row, minus infinity beyond the last output.
static inline __attribute__((always_inline)) Vec load_logits(const float* row, std::size_t at, std::size_t outputs) {
  const Vec values = load(row + at);
  if (at + kLanes <= outputs) return values;
  const VecInt inside = lane_numbers() < static_cast<int>(outputs) - static_cast<int>(at);
  return inside ? values : splat(-__builtin_inff());
}

LossResult softmax(std::size_t batch, std::size_t outputs, std::size_t stride, const float* logits,
                   const std::int32_t* labels, float* gradient) {
  const std::size_t width = (outputs + 15) / 16 * 16;
  LossResult result{};
  alignas(64) float scratch[16];
  for (std::size_t b = 0; b < batch; ++b) {
    const float* row = logits + b * stride;
    const std::size_t label = static_cast<std::size_t>(labels[b]);
    const float own = row[label];
    Vec top = splat(-__builtin_inff());
    VecInt better{};  // lanes that hold a logit ahead of the label's
    for (std::size_t at = 0; at < width; at += kLanes) {
      const Vec z = load_logits(row, at, outputs);
      top = z > top ? z : top;
      const VecInt earlier = lane_numbers() + static_cast<int>(at) < static_cast<int>(label);
      better |= (z > splat(own)) | (earlier & (z == splat(own)));
    }
    store(scratch, top);
    float largest = scratch[0];
    bool beaten = own != own;
    for (int j = 1; j < kLanes; ++j) largest = scratch[j] > largest ? scratch[j] : largest;
    for (int j = 0; j < kLanes; ++j) beaten |= better[j] != 0;
    Vec total{};
    float* out = gradient ? gradient + b * stride : nullptr;
    for (std::size_t at = 0; at < width; at += kLanes) {
      const Vec e = exp_nonpositive(load_logits(row, at, outputs) - splat(largest));
      total += e;
      if (out) store(out + at, e);
    }
    const float sum = add_lanes(total);
    result.sum += static_cast<double>(largest) - static_cast<double>(own) + __builtin_log(static_cast<double>(sum));
    result.correct += beaten ? 0 : 1;
    if (out) {
      const float inverse = 1.0f / sum;
      for (std::size_t at = 0; at < width; at += kLanes) store(out + at, load(out + at) * splat(inverse));
      out[label] -= 1.0f;
    }
  }
  return result;
}

LossResult sigmoid(std::size_t batch, std::size_t, std::size_t stride, const float* logits, const std::int32_t* labels,
                   float* gradient) {
  LossResult result{};
  for (std::size_t b = 0; b < batch; ++b) {
    const double z = static_cast<double>(logits[b * stride]);
    const bool positive = labels[b] != 0;
    // log(1 + exp(-|z|)) never overflows.
    const double e = __builtin_exp(-__builtin_fabs(z));
    result.sum += (z > 0 ? z : 0) - (positive ? z : 0) + __builtin_log1p(e);
    result.correct += z == z && (z > 0) == positive ? 1 : 0;
    if (gradient) {
      float* out = gradient + b * stride;
      for (std::size_t at = 0; at < 16; at += kLanes) store(out + at, Vec{});
      out[0] = static_cast<float>((z < 0 ? e : 1.0) / (1.0 + e) - (positive ? 1.0 : 0.0));
    }
  }
  return result;
}

}  // namespace

const LossKernels& loss_kernels() {
  static constexpr LossKernels table{softmax, sigmoid};
  return table;
}

}  // namespace muster::MUSTER_ISA_SPACE
