// The shortcut of a residual without parameters: the mean of each stride x stride window, channels padded with zeros on
// both sides. Windows at the lower and right edge hold what is left of the image.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "model/layer.h"

namespace muster {

struct PaddedShortcut {
  Shape in;
  Shape out;
  std::uint32_t stride = 1;

  // work(pixel of the output, pixel of the input, share of that pixel in the mean)
  template <typename Work>
  void each(const Activation& from, const Activation& to, std::size_t n, const Work& work) const {
    for (std::uint32_t y = 0; y < out.height; ++y) {
      for (std::uint32_t x = 0; x < out.width; ++x) {
        const std::uint32_t bottom = std::min(in.height, (y + 1) * stride);
        const std::uint32_t right = std::min(in.width, (x + 1) * stride);
        const float share = 1.0f / static_cast<float>((bottom - y * stride) * (right - x * stride));
        const std::size_t pixel = n * to.sample_stride + y * to.row_stride + x * to.pixel_stride;
        for (std::uint32_t i = y * stride; i < bottom; ++i) {
          for (std::uint32_t j = x * stride; j < right; ++j) {
            work(pixel + (out.channels - in.channels) / 2,
                 n * from.sample_stride + i * from.row_stride + j * from.pixel_stride, share,
                 i == y * stride && j == x * stride);
          }
        }
      }
    }
  }

  void forward(const Activation& from, const Activation& to, std::size_t batch) const {
    for (std::size_t n = 0; n < batch; ++n) {
      each(from, to, n, [&](std::size_t pixel, std::size_t source, float share, bool first) {
        const float* x = from.data + source;
        float* y = to.data + pixel;
        for (std::uint32_t c = 0; c < in.channels; ++c) y[c] = (first ? 0.0f : y[c]) + share * x[c];
      });
    }
  }

  // from.gradient += what arrives at `to`
  void backward(const Activation& from, const Activation& to, std::size_t batch) const {
    for (std::size_t n = 0; n < batch; ++n) {
      each(from, to, n, [&](std::size_t pixel, std::size_t source, float share, bool) {
        float* dx = from.gradient + source;
        const float* dy = to.gradient + pixel;
        for (std::uint32_t c = 0; c < in.channels; ++c) dx[c] += share * dy[c];
      });
    }
  }
};

}  // namespace muster
