#include "data/canvas.h"

#include <set>

#include "data/recording_canvas.h"
#include "data/stroke_font.h"

namespace muster {
namespace {

using testing::HasSubstr;

std::string shape_of(const std::string& text) {
  std::string shape;
  for (const Stroke& s : strokes_of(text, 12))
    shape += fmt::format("{:.2f},{:.2f},{:.2f},{:.2f};", s.x1, s.y1, s.x2, s.y2);
  return shape;
}

TEST(StrokeFont, EveryLetterOfAsciiHasAShapeOfItsOwn) {
  std::set<std::string> shapes{shape_of("\u4e2d")};  // the empty box
  for (char letter = '!'; letter <= '~'; ++letter) {
    EXPECT_TRUE(shapes.insert(shape_of(std::string(1, letter))).second) << letter;
  }
  EXPECT_EQ(shape_of(" "), "");
}

TEST(StrokeFont, AccentsStandOverTheirLetters) {
  const std::string box = shape_of("\u4e2d");
  std::set<std::string> shapes;
  for (const char* letter :
       {"é", "è", "ê", "ë", "e", "ü", "u", "ñ", "ß", "ø", "å", "č", "ż", "ç", "Ä", "A", "í", "i"}) {
    const std::string shape = shape_of(letter);
    EXPECT_NE(shape, box) << letter;
    EXPECT_TRUE(shapes.insert(shape).second) << letter;
  }
  EXPECT_EQ(text_width("é", 12), text_width("e", 12));
}

TEST(StrokeFont, WhatIsNoTextIsABoxAndNeverAnError) {
  for (const std::string text : {"\xff", "\xc3", "\xe2\x82", "\xed\xa0\x80", "\xf8zz", "\xc0\x80"}) {
    EXPECT_THAT(letters_of(text), testing::Contains(U'\ufffd')) << text.size();
    std::string again;
    for (const char32_t letter : letters_of(text)) append_utf8(again, letter);
    EXPECT_THAT(again, HasSubstr("\ufffd"));
  }
  std::string again;
  for (const char32_t letter : letters_of("aé€😀")) append_utf8(again, letter);
  EXPECT_EQ(again, "aé€😀");
}

TEST(Canvas, ShortensWhatIsTooWide) {
  EXPECT_EQ(shortened("short", 100, 12), "short");
  const std::string cut = shortened("Größenordnungen überall", 60, 12);
  EXPECT_TRUE(cut.starts_with("Gr"));
  EXPECT_TRUE(cut.ends_with("..."));
  EXPECT_LE(text_width(cut, 12), 60);
  EXPECT_EQ(shortened("anything", 1, 12), "...");
}

TEST(Canvas, BothOutputsHaveTheSizeAndTheMarks) {
  const Drawing drawing{.width = 120, .height = 50, .draw = [](Canvas& canvas) {
                          canvas.fill(10, 10, 20, 20, {200, 0, 0});
                          canvas.frame(50, 10, 20, 20, {0, 0, 200});
                          canvas.text(80, 20, "a\tb \xff", {.size = 12});
                          canvas.text(116, 46, "up", {.size = 10, .upwards = true});
                          canvas.text(-500, -500, "outside", {});
                        }};
  const std::string svg = to_svg(drawing);
  EXPECT_THAT(svg, HasSubstr("viewBox=\"0 0 120 50\""));
  EXPECT_THAT(svg, HasSubstr(">a b \ufffd</text>"));
  EXPECT_THAT(svg, HasSubstr("rotate(-90)"));
  const auto png = to_png(drawing);
  ASSERT_TRUE(png.ok());
  const Image image = decode_png(*png);
  EXPECT_EQ(image.width, 240u);
  EXPECT_EQ(image.height, 100u);
  EXPECT_EQ(hex(pixel_at(image, 20, 20)), "#c80000");
  EXPECT_EQ(hex(pixel_at(image, 60, 20)), "#ffffff") << "a frame is not filled";
  EXPECT_EQ(hex(pixel_at(image, 60, 9.5)), "#0000c8");
}

}  // namespace
}  // namespace muster
