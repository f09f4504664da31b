#include "data/picture.h"

#include <algorithm>
#include <cmath>

#include "data/recording_canvas.h"

namespace muster {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

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

// 20 clients of 10 classes, some with names.
LabelTable named() {
  LabelTable table = diagonal(20, 10);
  for (std::uint32_t k = 0; k < 20; ++k) table.client_names.push_back(k == 3 ? "" : fmt::format("Zürich {}", k));
  for (std::uint32_t c = 0; c < 10; ++c) table.class_names.push_back(fmt::format("illness {}", c));
  return table;
}

TEST(LabelPicture, HasACellPerHeldClassAxesAndAScale) {
  const LabelTable table = diagonal(20, 10);
  const RecordingCanvas canvas(draw_labels(table));
  for (const char* text : {"Classes of the clients' samples", "a < b & c", "client", "class", "share of its samples"}) {
    EXPECT_THAT(canvas.texts(), Contains(text));
  }
  // 20 cells and 40 steps of the scale, each framed.
  EXPECT_EQ(canvas.fills.size(), 60u);
  EXPECT_EQ(canvas.frames, 2u);
  // Ticks: 20 clients, 10 classes, 5 shares; two lines of title and three names.
  EXPECT_EQ(canvas.words.size(), 40u);
}

TEST(LabelPicture, NamesClientsAndClassesThatHaveNames) {
  const LabelTable table = named();
  const std::vector<std::string> texts = RecordingCanvas(draw_labels(table)).texts();
  for (const char* text : {"Zürich 0", "Zürich 19", "3", "illness 9"}) EXPECT_THAT(texts, Contains(text));
  LabelTable many = diagonal(1000, 10);
  many.client_names.assign(1000, "x");
  EXPECT_THAT(RecordingCanvas(draw_labels(many)).texts(), Not(Contains("x"))) << "no room for a thousand names";
}

TEST(LabelPicture, IsTheSameInBothOutputs) {
  const LabelTable table = named();
  const RecordingCanvas canvas(draw_labels(table));
  const std::string svg = draw_svg(table);
  EXPECT_TRUE(svg.starts_with("<svg "));
  EXPECT_TRUE(svg.ends_with("</svg>\n"));
  EXPECT_THAT(svg, HasSubstr("a &lt; b &amp; c"));
  EXPECT_EQ(occurrences(svg, "<text"), canvas.words.size());
  EXPECT_EQ(occurrences(svg, "<rect"), canvas.fills.size() + canvas.frames + 1) << "and the background";
  const auto file = draw_png(table);
  ASSERT_TRUE(file.ok());
  expect_drawn(canvas, decode_png(*file));
}

TEST(LabelPicture, StaysSmallForManyClients) {
  EXPECT_LT(draw_svg(diagonal(100000, 10)).size(), 600000u);
}

TEST(LabelPicture, HasASensibleSizeForAnyTable) {
  for (const auto& [clients, classes] : {std::pair(1u, 1u), {1000u, 62u}, {5u, 100u}, {100000u, 10u}, {0u, 0u}}) {
    const LabelTable table = diagonal(clients, classes);
    const auto file = draw_png(table);
    ASSERT_TRUE(file.ok());
    const Image image = decode_png(*file);
    EXPECT_EQ(image.width, std::lround(draw_labels(table).width * kPixelsPerUnit));
    EXPECT_GE(image.width, 2000u);
    EXPECT_LE(image.width, 2600u);
    EXPECT_LE(image.height, 1600u);
  }
}

TEST(LabelCsv, HasAHeaderAndARowPerClient) {
  EXPECT_EQ(write_label_csv({.clients = 2, .classes = 3, .counts = {1, 2, 3, 0, 0, 9}}), "c0,c1,c2\n1,2,3\n0,0,9\n");
  EXPECT_EQ(write_label_csv({.clients = 1,
                             .classes = 2,
                             .counts = {4, 5},
                             .client_names = {"St. \"Mary\", left"},
                             .class_names = {"ill", "7"}}),
            "client,ill,c7\n\"St. \"\"Mary\"\", left\",4,5\n");
}

}  // namespace
}  // namespace muster
