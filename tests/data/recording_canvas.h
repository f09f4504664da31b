// A canvas that remembers what was drawn, a reader of PNGs, and whether both show the same.
#pragma once

#include <gtest/gtest.h>
#include <png.h>

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "data/canvas.h"

namespace muster {

class RecordingCanvas final : public Canvas {
 public:
  struct Fill {
    double x, y, width, height;
    Colour colour;
  };
  struct Word {
    double x, y;
    std::string text;
    TextStyle style;
  };

  explicit RecordingCanvas(const Drawing& drawing) { drawing.draw(*this); }
  void fill(double x, double y, double width, double height, Colour colour) override {
    fills.push_back({x, y, width, height, colour});
  }
  void frame(double, double, double, double, Colour) override { ++frames; }
  void line(std::span<const CanvasPoint> points, const LineStyle& style) override {
    lines.push_back({{points.begin(), points.end()}, style});
  }
  void area(std::span<const CanvasPoint> outline, Colour, double) override {
    areas.emplace_back(outline.begin(), outline.end());
  }
  void text(double x, double y, std::string_view text, const TextStyle& style) override {
    words.push_back({x, y, std::string(text), style});
  }

  [[nodiscard]] std::vector<std::string> texts() const {
    std::vector<std::string> all;
    for (const Word& word : words) all.push_back(word.text);
    return all;
  }

  struct Line {
    std::vector<CanvasPoint> points;
    LineStyle style;
  };
  std::vector<Fill> fills;
  std::vector<Line> lines;
  std::vector<std::vector<CanvasPoint>> areas;
  std::vector<Word> words;
  std::size_t frames = 0;
};

inline Image decode_png(const std::string& file) {
  png_image header;
  std::memset(&header, 0, sizeof header);
  header.version = PNG_IMAGE_VERSION;
  EXPECT_TRUE(png_image_begin_read_from_memory(&header, file.data(), file.size()));
  header.format = PNG_FORMAT_RGB;
  Image image(header.width, header.height);
  EXPECT_TRUE(png_image_finish_read(&header, nullptr, image.pixels.data(), 0, nullptr));
  return image;
}

inline Colour pixel_at(const Image& image, double x, double y) {
  const auto column = static_cast<std::size_t>(x * kPixelsPerUnit);
  const auto row = static_cast<std::size_t>(y * kPixelsPerUnit);
  if (column >= image.width || row >= image.height) return {255, 255, 255};
  const std::uint8_t* const pixel = image.pixels.data() + (row * image.width + column) * 3;
  return {pixel[0], pixel[1], pixel[2]};
}

// Every rectangle has its colour, and where a text should be, some of it is dark.
inline void expect_drawn(const RecordingCanvas& canvas, const Image& image) {
  for (const RecordingCanvas::Fill& fill : canvas.fills) {
    if (fill.width < 1 || fill.height < 1) continue;
    const Colour found = pixel_at(image, fill.x + fill.width / 2, fill.y + fill.height / 2);
    EXPECT_EQ(hex(found), hex(fill.colour)) << fill.x << ", " << fill.y;
  }
  for (const RecordingCanvas::Word& word : canvas.words) {
    const double width = text_width(word.text, word.style.size);
    const double back = word.style.anchor == Anchor::kStart ? 0 : word.style.anchor == Anchor::kEnd ? width : width / 2;
    std::size_t dark = 0;
    for (double along = -back; along < width - back; along += 0.5) {
      for (double across = -word.style.size / 2; across < word.style.size / 2; across += 0.5) {
        const Colour found = word.style.upwards ? pixel_at(image, word.x + across, word.y - along)
                                                : pixel_at(image, word.x + along, word.y + across);
        dark += found.red < 60 && found.green < 60 && found.blue < 60;
      }
    }
    EXPECT_GE(dark, 4 * word.text.size()) << word.text;
  }
}

}  // namespace muster
