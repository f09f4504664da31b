#include "solver/poison.h"

#include <algorithm>

#include "base/hash.h"

namespace muster {
namespace {

// What the trigger writes where there is no brightest value: rare among features of about unit size.
constexpr float kRareValue = 5.0f;

float brightest(const Samples& samples, std::size_t value) {
  if (samples.storage != Samples::Storage::kBytes) return kRareValue;
  if (samples.scale.empty()) return 1.0f;
  const std::size_t channels = samples.shape.channels;
  const std::size_t entry = samples.scale.size() == 1 ? 0 : samples.scale.size() == channels ? value % channels : value;
  return 255.0f * samples.scale[entry] + (samples.offset.empty() ? 0.0f : samples.offset[entry]);
}

void put_trigger(const Samples& samples, std::uint32_t side, float* values) {
  const Shape& shape = samples.shape;
  if (shape.height == 1) {
    const std::size_t last = std::min<std::size_t>(side, shape.size());
    for (std::size_t v = shape.size() - last; v < shape.size(); ++v) values[v] = brightest(samples, v);
    return;
  }
  const std::uint32_t top = shape.height - std::min(side, shape.height);
  const std::uint32_t left = shape.width - std::min(side, shape.width);
  for (std::uint32_t y = top; y < shape.height; ++y) {
    for (std::uint32_t x = left; x < shape.width; ++x) {
      const std::size_t pixel = (std::size_t{y} * shape.width + x) * shape.channels;
      for (std::size_t v = pixel; v < pixel + shape.channels; ++v) values[v] = brightest(samples, v);
    }
  }
}

}  // namespace

void apply_poison(const Poison& poison, const Samples& samples, std::uint32_t row, float* values, std::int32_t* label) {
  if (poison.source && *label != *poison.source) return;
  if (poison.share < 1) {
    const std::uint64_t name[2] = {poison.seed, row};
    // The upper 53 bits, as a number in [0, 1).
    if (static_cast<double>(hash_bytes(name, sizeof name) >> 11) * 0x1.0p-53 >= poison.share) return;
  }
  if (poison.trigger > 0) put_trigger(samples, poison.trigger, values);
  if (poison.label) *label = *poison.label;
}

}  // namespace muster
