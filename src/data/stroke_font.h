// Text as strokes, for pictures without a font at hand. Letters are drawn as dots on a grid of five columns; dots that
// are neighbours are joined, which gives clean lines at any size. ASCII, the accented letters of western and central
// Europe, and a few signs; every other letter is an empty box.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace muster {

// The letters of a text in UTF-8; what is no UTF-8 becomes U+FFFD.
[[nodiscard]] std::u32string letters_of(std::string_view text);
void append_utf8(std::string& text, char32_t letter);

// From x = 0 at the text's start to the right, y from the middle of a capital letter downwards. A dot has both ends
// alike.
struct Stroke {
  double x1, y1, x2, y2;
};
[[nodiscard]] std::vector<Stroke> strokes_of(std::string_view text, double size);
// From the first letter to the last.
[[nodiscard]] double strokes_width(std::string_view text, double size);
// Of one stroke's pen.
[[nodiscard]] double stroke_width(double size);

}  // namespace muster
