// Canvas: what pictures are drawn on, in units of 1/72 inch or so, y downwards. One drawing code, two outputs: an SVG,
// and a PNG with kPixelsPerUnit pixels per unit, so that it can be printed. A picture cannot tell which it is.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "data/image.h"

namespace muster {

enum class Anchor { kStart, kMiddle, kEnd };

struct TextStyle {
  double size = 12;
  Anchor anchor = Anchor::kStart;
  bool upwards = false;  // turned by 90 degrees, read from below
  Colour colour = {34, 34, 34};
};

struct CanvasPoint {
  double x, y;
};

struct LineStyle {
  double width = 1.5;
  Colour colour = {34, 34, 34};
  bool dashed = false;
};

class Canvas {
 public:
  virtual ~Canvas() = default;
  virtual void fill(double x, double y, double width, double height, Colour colour) = 0;
  virtual void frame(double x, double y, double width, double height, Colour colour) = 0;
  // From point to point; nothing of fewer than two.
  virtual void line(std::span<const CanvasPoint> points, const LineStyle& style) = 0;
  // What the outline encloses, with `share` of the colour over what is there.
  virtual void area(std::span<const CanvasPoint> outline, Colour colour, double share) = 0;
  // (x, y) is where the anchor is; across its direction the text is centred on it.
  virtual void text(double x, double y, std::string_view text, const TextStyle& style) = 0;
};

struct Drawing {
  double width = 0;
  double height = 0;
  std::function<void(Canvas&)> draw;
};

inline constexpr std::uint32_t kPixelsPerUnit = 2;
[[nodiscard]] std::string to_svg(const Drawing& drawing);
[[nodiscard]] Result<std::string> to_png(const Drawing& drawing);

// How wide a text is, about: an SVG's reader has a font of its own.
[[nodiscard]] double text_width(std::string_view text, double size);
// The text, or as much of its beginning as is about so wide, and "...".
[[nodiscard]] std::string shortened(std::string_view text, double width, double size);

// A round step that gives at most `most` ticks below `count`. Precondition: most > 0.
[[nodiscard]] std::uint32_t tick_step(std::uint32_t count, std::uint32_t most);

}  // namespace muster
