// What pictures are drawn with: an RGB image that becomes a PNG, digits on it, and the small parts of an SVG.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace muster {

struct Colour {
  std::uint8_t red, green, blue;
};

// "#rrggbb"
[[nodiscard]] std::string hex(Colour c);

// For text in an SVG.
[[nodiscard]] std::string escaped(std::string_view text);

// A round step that gives at most `most` ticks below `count`. Precondition: most > 0.
[[nodiscard]] std::uint32_t tick_step(std::uint32_t count, std::uint32_t most);

// White at first. Fills are cut at its borders.
struct Image {
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  std::vector<std::uint8_t> pixels = {};

  Image(std::uint32_t w, std::uint32_t h) : width(w), height(h), pixels(std::size_t{w} * h * 3, 255) {}
  void fill(std::uint32_t x, std::uint32_t y, std::uint32_t w, std::uint32_t h, Colour c);
};

inline constexpr std::uint32_t kDot = 2;                // pixels per dot of a digit
inline constexpr std::uint32_t kDigitWidth = 4 * kDot;  // three dots and a gap
inline constexpr std::uint32_t kDigitHeight = 5 * kDot;
// All the text that a PNG needs.
void write_number(Image& image, std::uint32_t x, std::uint32_t y, std::uint32_t number);
[[nodiscard]] std::uint32_t number_width(std::uint32_t number);

[[nodiscard]] Result<std::string> encode_png(const Image& image);

}  // namespace muster
