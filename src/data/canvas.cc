#include "data/canvas.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "data/stroke_font.h"

namespace muster {
namespace {

constexpr Colour kInk = {34, 34, 34};
// Of a dashed line, in widths of it.
constexpr double kDash = 4;
constexpr double kGap = 3;

class SvgCanvas final : public Canvas {
 public:
  SvgCanvas(double width, double height) {
    fmt::format_to(out(),
                   "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\" width=\"{0:.0f}\" "
                   "height=\"{1:.0f}\" font-family=\"Helvetica, Arial, sans-serif\" fill=\"{2}\">\n"
                   "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n",
                   width, height, hex(kInk));
  }

  void fill(double x, double y, double width, double height, Colour colour) override {
    fmt::format_to(out(),
                   "<rect x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.2f}\" fill=\"{}\" "
                   "shape-rendering=\"crispEdges\"/>\n",
                   x, y, width, height, hex(colour));
  }

  void frame(double x, double y, double width, double height, Colour colour) override {
    fmt::format_to(out(),
                   "<rect x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.2f}\" fill=\"none\" stroke=\"{}\"/>\n",
                   x, y, width, height, hex(colour));
  }

  void line(std::span<const CanvasPoint> points, const LineStyle& style) override {
    if (points.size() < 2) return;
    fmt::format_to(
        out(), "<polyline fill=\"none\" stroke=\"{}\" stroke-width=\"{}\" stroke-linejoin=\"round\"{} points=\"",
        hex(style.colour), style.width,
        style.dashed ? fmt::format(" stroke-dasharray=\"{} {}\"", kDash * style.width, kGap * style.width) : "");
    write_points(points);
    svg_ += "\"/>\n";
  }

  void area(std::span<const CanvasPoint> outline, Colour colour, double share) override {
    fmt::format_to(out(), "<polygon fill=\"{}\" fill-opacity=\"{:.2f}\" points=\"", hex(colour), share);
    write_points(outline);
    svg_ += "\"/>\n";
  }

  void text(double x, double y, std::string_view text, const TextStyle& style) override {
    constexpr double kBaseline = 0.35;  // of the size, below the middle of the letters; not all readers centre text
    const char* const anchor = style.anchor == Anchor::kStart    ? "start"
                               : style.anchor == Anchor::kMiddle ? "middle"
                                                                 : "end";
    const std::string place =
        style.upwards ? fmt::format("transform=\"translate({:.2f} {:.2f}) rotate(-90)\"", x + kBaseline * style.size, y)
                      : fmt::format("x=\"{:.2f}\" y=\"{:.2f}\"", x, y + kBaseline * style.size);
    fmt::format_to(out(), "<text {} font-size=\"{}\" text-anchor=\"{}\"{}>{}</text>\n", place, style.size, anchor,
                   style.colour == kInk ? "" : fmt::format(" fill=\"{}\"", hex(style.colour)), escaped(text));
  }

  std::string finish() && { return std::move(svg_) + "</svg>\n"; }

 private:
  std::back_insert_iterator<std::string> out() { return std::back_inserter(svg_); }
  void write_points(std::span<const CanvasPoint> points) {
    for (std::size_t i = 0; i < points.size(); ++i) {
      fmt::format_to(out(), "{}{:.2f},{:.2f}", i == 0 ? "" : " ", points[i].x, points[i].y);
    }
  }
  // Letters that XML does not allow become spaces, what is no text the sign for that.
  static std::string escaped(std::string_view text) {
    std::string safe;
    for (const char32_t letter : letters_of(text)) {
      if (letter == U'<') {
        safe += "&lt;";
      } else if (letter == U'>') {
        safe += "&gt;";
      } else if (letter == U'&') {
        safe += "&amp;";
      } else {
        append_utf8(safe, letter < U' ' ? U' ' : letter);
      }
    }
    return safe;
  }

  std::string svg_;
};

// Edges are rounded to pixels, not sizes: so what meets on paper meets here.
class PixelCanvas final : public Canvas {
 public:
  PixelCanvas(double width, double height) : image_(pixel(width), pixel(height)) {}

  void fill(double x, double y, double width, double height, Colour colour) override {
    const std::uint32_t left = pixel(x);
    const std::uint32_t top = pixel(y);
    image_.fill(left, top, std::max(pixel(x + width), left) - left, std::max(pixel(y + height), top) - top, colour);
  }

  void frame(double x, double y, double width, double height, Colour colour) override {
    constexpr double kThin = 1.0 / kPixelsPerUnit;
    fill(x - kThin, y - kThin, width + 2 * kThin, kThin, colour);
    fill(x - kThin, y + height, width + 2 * kThin, kThin, colour);
    fill(x - kThin, y, kThin, height, colour);
    fill(x + width, y, kThin, height, colour);
  }

  void text(double x, double y, std::string_view text, const TextStyle& style) override {
    const double back = style.anchor == Anchor::kStart    ? 0
                        : style.anchor == Anchor::kMiddle ? text_width(text, style.size) / 2
                                                          : text_width(text, style.size);
    for (const Stroke& stroke : strokes_of(text, style.size)) {
      const auto place = [&](double along, double across) {
        return style.upwards ? CanvasPoint{x + across, y - (along - back)} : CanvasPoint{x + along - back, y + across};
      };
      stroke_line(place(stroke.x1, stroke.y1), place(stroke.x2, stroke.y2), stroke_width(style.size), style.colour);
    }
  }

  void line(std::span<const CanvasPoint> points, const LineStyle& style) override {
    double along = 0;  // the line so far, in its widths
    for (std::size_t i = 0; i + 1 < points.size(); ++i) {
      const CanvasPoint a = points[i];
      const CanvasPoint b = points[i + 1];
      const double length = std::hypot(b.x - a.x, b.y - a.y) / style.width;
      if (!style.dashed) {
        stroke_line(a, b, style.width, style.colour);
      } else {
        const auto at = [&](double share) { return CanvasPoint{a.x + (b.x - a.x) * share, a.y + (b.y - a.y) * share}; };
        for (double from = 0; from < length;) {
          const double phase = std::fmod(along + from, kDash + kGap);
          const double to = std::min(length, from + (phase < kDash ? kDash : kDash + kGap) - phase);
          if (phase < kDash) stroke_line(at(from / length), at(to / length), style.width, style.colour);
          from = std::max(to, from + 1e-6);
        }
      }
      along += length;
    }
  }

  void area(std::span<const CanvasPoint> outline, Colour colour, double share) override {
    if (outline.size() < 3) return;
    double top = outline[0].y;
    double bottom = top;
    for (const CanvasPoint& point : outline) {
      top = std::min(top, point.y);
      bottom = std::max(bottom, point.y);
    }
    const int last = static_cast<int>(std::lround(std::min(bottom * kPixelsPerUnit, double{1 << 16})));
    for (int row = static_cast<int>(std::lround(std::max(0.0, top * kPixelsPerUnit))); row <= last; ++row) {
      const double y = (row + 0.5) / kPixelsPerUnit;
      std::vector<double> crossings;
      for (std::size_t i = 0; i < outline.size(); ++i) {
        const CanvasPoint& a = outline[i];
        const CanvasPoint& b = outline[(i + 1) % outline.size()];
        if ((a.y <= y) != (b.y <= y)) crossings.push_back(a.x + (b.x - a.x) * (y - a.y) / (b.y - a.y));
      }
      std::ranges::sort(crossings);
      for (std::size_t i = 0; i + 1 < crossings.size(); i += 2) {
        const auto end = static_cast<int>(pixel(crossings[i + 1]));
        for (auto column = static_cast<int>(pixel(crossings[i])); column < end; ++column) {
          image_.darken(column, row, share, colour);
        }
      }
    }
  }

  const Image& image() const { return image_; }

 private:
  static std::uint32_t pixel(double units) {
    return static_cast<std::uint32_t>(std::lround(std::max(0.0, units) * kPixelsPerUnit));
  }

  // With round ends and soft edges.
  void stroke_line(CanvasPoint a, CanvasPoint b, double width, Colour colour) {
    a = {a.x * kPixelsPerUnit, a.y * kPixelsPerUnit};
    b = {b.x * kPixelsPerUnit, b.y * kPixelsPerUnit};
    const double reach = width * kPixelsPerUnit / 2;
    const double dx = b.x - a.x;
    const double dy = b.y - a.y;
    const double length2 = dx * dx + dy * dy;
    const auto last_x = static_cast<int>(std::ceil(std::max(a.x, b.x) + reach));
    const auto last_y = static_cast<int>(std::ceil(std::max(a.y, b.y) + reach));
    for (auto j = static_cast<int>(std::floor(std::min(a.y, b.y) - reach)); j <= last_y; ++j) {
      for (auto i = static_cast<int>(std::floor(std::min(a.x, b.x) - reach)); i <= last_x; ++i) {
        const double px = i + 0.5 - a.x;
        const double py = j + 0.5 - a.y;
        const double along = length2 > 0 ? std::clamp((px * dx + py * dy) / length2, 0.0, 1.0) : 0.0;
        const double distance = std::hypot(px - along * dx, py - along * dy);
        image_.darken(i, j, std::clamp(reach + 0.5 - distance, 0.0, 1.0), colour);
      }
    }
  }

  Image image_;
};

}  // namespace

std::string to_svg(const Drawing& drawing) {
  SvgCanvas canvas(drawing.width, drawing.height);
  drawing.draw(canvas);
  return std::move(canvas).finish();
}

Result<std::string> to_png(const Drawing& drawing) {
  PixelCanvas canvas(drawing.width, drawing.height);
  drawing.draw(canvas);
  return encode_png(canvas.image());
}

double text_width(std::string_view text, double size) {
  return strokes_width(text, size);
}

std::string shortened(std::string_view text, double width, double size) {
  if (text_width(text, size) <= width) return std::string(text);
  std::u32string letters = letters_of(text);
  std::string shorter;
  do {
    if (!letters.empty()) letters.pop_back();
    shorter.clear();
    for (const char32_t letter : letters) append_utf8(shorter, letter);
    shorter += "...";
  } while (!letters.empty() && text_width(shorter, size) > width);
  return shorter;
}

std::uint32_t tick_step(std::uint32_t count, std::uint32_t most) {
  for (std::uint64_t power = 1;; power *= 10) {
    for (const std::uint64_t step : {power, 2 * power, 5 * power}) {
      if ((count + step - 1) / step <= most) return static_cast<std::uint32_t>(step);
    }
  }
}

}  // namespace muster
