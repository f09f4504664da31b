#include "grouping/group_picture.h"

#include <set>

#include "data/recording_canvas.h"

namespace muster {
namespace {

using testing::Contains;
using testing::HasSubstr;

GroupPanel panel(std::uint32_t groups, std::size_t classes) {
  GroupPanel made{.title = fmt::format("{} groups", groups), .counts = Rows<std::uint64_t>(groups, classes)};
  for (std::uint32_t g = 0; g < groups; ++g) {
    for (std::size_t c = 0; c < classes; ++c) made.counts.row(g)[c] = 100 + 10 * g + c;
  }
  return made;
}

TEST(GroupPicture, HasTitlesAxesAndALegendInBothOutputs) {
  const std::vector<GroupPanel> panels = {panel(4, 3), panel(2, 3)};
  const std::vector<std::string> names = {"cat", "dog", "bird"};
  const Drawing drawing = draw_groups(panels, names);
  const RecordingCanvas canvas(drawing);
  for (const char* text : {"4 groups", "2 groups", "group", "samples", "class", "cat", "dog", "bird", "0", "3"}) {
    EXPECT_THAT(canvas.texts(), Contains(text));
  }
  const std::string svg = to_svg(drawing);
  for (const std::string& text : canvas.texts()) EXPECT_THAT(svg, HasSubstr(">" + text + "</text>"));
  const auto png = to_png(drawing);
  ASSERT_TRUE(png.ok());
  expect_drawn(canvas, decode_png(*png));
}

TEST(GroupPicture, SaysWhichGroupsAndClassesAreLeftOut) {
  const std::vector<GroupPanel> panels = {panel(900, 30)};
  const std::vector<std::string> texts = RecordingCanvas(draw_groups(panels)).texts();
  EXPECT_THAT(texts, Contains("900 groups (300 of them drawn)"));
  EXPECT_THAT(texts, Contains("... 30 classes"));
  EXPECT_TRUE(RecordingCanvas(draw_groups({})).fills.empty());
}

TEST(GroupPicture, ClassesHaveColoursOfTheirOwn) {
  for (const std::size_t classes : {8, 24}) {
    std::set<std::string> colours;
    for (std::size_t c = 0; c < classes; ++c) EXPECT_TRUE(colours.insert(hex(class_colour(c, classes))).second) << c;
  }
}

}  // namespace
}  // namespace muster
