// Image: an RGB image that becomes a PNG.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace muster {

struct Colour {
  std::uint8_t red, green, blue;
  bool operator==(const Colour&) const = default;
};

// "#rrggbb"
[[nodiscard]] std::string hex(Colour c);
// `share` of the way from a to b, 0 to 1.
[[nodiscard]] Colour blend(Colour a, Colour b, double share);

// White at first. What lies beyond its borders is not drawn.
struct Image {
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  std::vector<std::uint8_t> pixels = {};

  Image(std::uint32_t w, std::uint32_t h) : width(w), height(h), pixels(std::size_t{w} * h * 3, 255) {}
  void fill(std::uint32_t x, std::uint32_t y, std::uint32_t w, std::uint32_t h, Colour c);
  // Covers `share` of a pixel with the colour, so that edges are soft.
  void darken(int x, int y, double share, Colour c);
};

[[nodiscard]] Result<std::string> encode_png(const Image& image);

}  // namespace muster
