#include "model/layers/time_major.h"

#include <cstring>

#include "base/check.h"
#include "model/layers/channels.h"

namespace muster {

TimeMajor read_time_major(Compiler& compiler, const Activation& in) {
  const std::uint32_t words = in.shape.width;
  const std::uint32_t batch = compiler.batch();
  if (in.pixel_stride == batch * in.sample_stride) return {in.data, in.gradient, in.sample_stride};
  const std::size_t dimension = in.shape.channels;
  const std::size_t stride = in.gradient ? padded(dimension) : dimension;
  const std::size_t count = std::size_t{words} * compiler.max_batch() * stride;
  float* lines = compiler.floats(count);
  compiler.forward(Call([=](const Pass&) {
    float* to = lines;
    for (std::uint32_t t = 0; t < words; ++t) {
      for (std::uint32_t b = 0; b < batch; ++b, to += stride) {
        std::memcpy(to, in.data + b * in.sample_stride + t * in.pixel_stride, dimension * sizeof(float));
      }
    }
  }));
  return {lines, in.gradient ? compiler.floats(count) : nullptr, stride};
}

void return_gradient(Compiler& compiler, const Activation& in, const TimeMajor& lines) {
  if (!in.gradient || lines.dx == in.gradient) return;
  const std::uint32_t words = in.shape.width;
  const std::uint32_t batch = compiler.batch();
  compiler.backward(Call([=](const Pass&) {
    const float* from = lines.dx;
    for (std::uint32_t t = 0; t < words; ++t) {
      for (std::uint32_t b = 0; b < batch; ++b, from += lines.stride) {
        std::memcpy(in.gradient + b * in.sample_stride + t * in.pixel_stride, from, in.shape.channels * sizeof(float));
      }
    }
  }));
}

Activation deliver_time_major(const Compiler& compiler, Shape shape, std::uint32_t words, float* data, float* gradient,
                              const Request& want) {
  const std::size_t width = padded(shape.channels);
  const std::size_t line = compiler.batch() * width;
  const std::size_t first = (words - shape.width) * line;
  Activation out{.data = data + first, .gradient = gradient + first, .shape = shape, .sample_stride = width};
  if (shape.width == 1) return as_wanted(out, want);
  MUSTER_CHECK(want.format == Format::kChannels && want.halo == 0, "sequences are delivered as they are");
  out.format = Format::kChannels;
  out.pixel_stride = out.row_stride = line;
  return out;
}

}  // namespace muster
