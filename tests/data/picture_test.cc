#include "data/picture.h"

#include <png.h>

#include <algorithm>
#include <cstring>

namespace muster {
namespace {

using testing::HasSubstr;

// Client k holds only class k mod classes.
LabelTable diagonal(std::uint32_t clients, std::uint32_t classes) {
  LabelTable table{.clients = clients, .classes = classes, .title = "a < b & c"};
  table.counts.assign(std::size_t{clients} * classes, 0);
  for (std::uint32_t k = 0; k < clients; ++k) table.counts[std::size_t{k} * classes + k % classes] = 1 + k;
  return table;
}

std::size_t occurrences(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

struct Pixels {
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  std::vector<std::uint8_t> rgb;
};

Pixels decode(const std::string& file) {
  png_image image;
  std::memset(&image, 0, sizeof image);
  image.version = PNG_IMAGE_VERSION;
  EXPECT_TRUE(png_image_begin_read_from_memory(&image, file.data(), file.size()));
  image.format = PNG_FORMAT_RGB;
  Pixels pixels{image.width, image.height, std::vector<std::uint8_t>(PNG_IMAGE_SIZE(image))};
  EXPECT_TRUE(png_image_finish_read(&image, nullptr, pixels.rgb.data(), 0, nullptr));
  return pixels;
}

TEST(HeatMap, HoldsSharesPerClient) {
  LabelTable table{.clients = 3, .classes = 2, .counts = {1, 3, 0, 0, 5, 0}};
  const HeatMap map = heat_map(table, 10);
  ASSERT_EQ(map.columns, 3u);
  EXPECT_EQ(map.shares, (std::vector<float>{0.25f, 0.75f, 0, 0, 1, 0}));
}

TEST(HeatMap, JoinsNeighboursByTheMeanOfTheirShares) {
  // A column of three clients, one of them empty, and a rest.
  LabelTable table{.clients = 4, .classes = 2, .counts = {1000, 0, 0, 0, 1, 1, 0, 7}};
  const HeatMap map = heat_map(table, 2);
  ASSERT_EQ(map.columns, 2u);
  EXPECT_EQ(map.shares, (std::vector<float>{1.0f, 0.0f, 0.25f, 0.75f}));
  const HeatMap thousand = heat_map(diagonal(1000, 10), 300);
  EXPECT_EQ(thousand.columns, 250u);
  for (std::uint32_t column = 0; column < thousand.columns; ++column) {
    float sum = 0;
    for (std::uint32_t row = 0; row < 10; ++row) sum += thousand.share(column, row);
    EXPECT_NEAR(sum, 1, 1e-5);
  }
}

TEST(Svg, HasACellPerHeldClassAxesAndAScale) {
  const std::string svg = draw_svg(diagonal(20, 10));
  EXPECT_TRUE(svg.starts_with("<svg "));
  EXPECT_TRUE(svg.ends_with("</svg>\n"));
  EXPECT_THAT(svg, HasSubstr(">client</text>"));
  EXPECT_THAT(svg, HasSubstr(">class</text>"));
  EXPECT_THAT(svg, HasSubstr(">share</text>"));
  EXPECT_THAT(svg, HasSubstr("a &lt; b &amp; c"));
  // 20 cells, 40 steps of the scale, the background and the frame.
  EXPECT_EQ(occurrences(svg, "<rect"), 62u);
  // Ticks: 20 clients, 10 classes, 5 shares; and the title and three names.
  EXPECT_EQ(occurrences(svg, "<text"), 39u);
}

TEST(Svg, StaysSmallForManyClients) {
  EXPECT_LT(draw_svg(diagonal(100000, 10)).size(), 600000u);
}

TEST(Png, ShowsDarkCellsOnTheDiagonal) {
  const auto file = draw_png(diagonal(20, 10));
  ASSERT_TRUE(file.ok());
  const Pixels pixels = decode(*file);
  EXPECT_NEAR(pixels.width, 1240, 60);
  // The middle of client k's own class is dark, that of another class is white.
  const std::uint32_t left = pixels.width - 30 - 20 * 60;
  const auto brightness = [&](std::uint32_t client, std::uint32_t label) {
    const std::size_t x = left + client * 60 + 30;
    const std::size_t y = 4 + label * 32 + 16;
    const std::uint8_t* pixel = pixels.rgb.data() + (y * pixels.width + x) * 3;
    return pixel[0] + pixel[1] + pixel[2];
  };
  for (std::uint32_t k = 0; k < 20; ++k) {
    EXPECT_LT(brightness(k, k % 10), 200) << k;
    EXPECT_EQ(brightness(k, (k + 3) % 10), 765) << k;
  }
}

TEST(Png, HasASensibleSizeForAnyTable) {
  for (const auto& [clients, classes] : {std::pair(1u, 1u), {1000u, 62u}, {5u, 100u}, {100000u, 10u}}) {
    const auto file = draw_png(diagonal(clients, classes));
    ASSERT_TRUE(file.ok());
    const Pixels pixels = decode(*file);
    EXPECT_GE(pixels.width, 500u);
    EXPECT_LE(pixels.width, 1300u);
    EXPECT_LE(pixels.height, 450u);
  }
}

TEST(LabelCsv, HasAHeaderAndARowPerClient) {
  EXPECT_EQ(write_label_csv({.clients = 2, .classes = 3, .counts = {1, 2, 3, 0, 0, 9}}), "c0,c1,c2\n1,2,3\n0,0,9\n");
}

}  // namespace
}  // namespace muster
