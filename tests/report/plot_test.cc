#include "report/plot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/recording_canvas.h"
#include "recorded_run.h"
#include "report/describe.h"

namespace muster {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

TEST(AxisTicks, AreRoundNumbers) {
  EXPECT_THAT(axis_ticks(0, 1, 5), ElementsAre(0, 0.2, 0.4, testing::DoubleNear(0.6, 1e-12), 0.8, 1));
  EXPECT_THAT(axis_ticks(3, 97, 5), ElementsAre(0, 20, 40, 60, 80, 100));
  EXPECT_THAT(axis_ticks(1, 10'000, 5), ElementsAre(0, 2000, 4000, 6000, 8000, 10000));
  EXPECT_THAT(axis_ticks(5, 5, 5), ElementsAre(5));
}

Figure curves() {
  LineFigure lines{.x = {{"round", Unit::kCount, "round"}}, .y = {"accuracy", Unit::kShare}, .series = {}};
  lines.series.push_back({.name = "<a> & b", .x = {{0, 10}}, .y = {0.0, 1.0}, .low = {0.0, 0.8}, .high = {0.2, 1.0}});
  lines.series.push_back({.name = "c", .x = {{0, 10}}, .y = {1.0, std::nullopt}, .dashed = true});
  return {.id = "curve", .title = "A title", .lines = std::move(lines)};
}

TEST(DrawFigure, PlacesCurvesAndBands) {
  const Figure figure = curves();
  const RecordingCanvas canvas(draw_figure(figure));
  EXPECT_THAT(canvas.texts(), testing::IsSupersetOf({"A title", "round", "accuracy", "0 %", "100 %", "<a> & b", "c"}));
  ASSERT_THAT(canvas.areas, SizeIs(1));
  EXPECT_THAT(canvas.areas[0], SizeIs(4));
  // The first curve goes from the lower left corner of the frame to the upper right one.
  const auto curve =
      std::find_if(canvas.lines.begin(), canvas.lines.end(), [](const auto& line) { return line.style.width == 1.6; });
  ASSERT_NE(curve, canvas.lines.end());
  ASSERT_THAT(curve->points, SizeIs(2));
  EXPECT_LT(curve->points[0].x, 100);
  EXPECT_GT(curve->points[1].x, 500);
  EXPECT_GT(curve->points[0].y, curve->points[1].y + 250);
  // All of it is within the picture.
  const Drawing drawing = draw_figure(figure);
  for (const auto& word : canvas.words) {
    if (word.style.upwards) continue;
    const double width = text_width(word.text, word.style.size);
    const double left = word.x - (word.style.anchor == Anchor::kEnd      ? width
                                  : word.style.anchor == Anchor::kMiddle ? width / 2
                                                                         : 0);
    EXPECT_GE(left, 0) << word.text;
    EXPECT_LE(left + width, drawing.width + 1) << word.text;
    EXPECT_LE(word.y, drawing.height) << word.text;
  }
}

TEST(DrawFigure, GivesSvgAndPng) {
  const Figure figure = curves();
  const std::string svg = to_svg(draw_figure(figure));
  EXPECT_THAT(svg, HasSubstr("<polyline"));
  EXPECT_THAT(svg, HasSubstr("<polygon"));
  EXPECT_THAT(svg, HasSubstr("stroke-dasharray"));
  EXPECT_THAT(svg, HasSubstr("&lt;a&gt; &amp; b"));
  const auto png = to_png(draw_figure(figure));
  ASSERT_TRUE(png.ok());
  const Image image = decode_png(*png);
  const RecordingCanvas canvas(draw_figure(figure));
  const auto curve =
      std::find_if(canvas.lines.begin(), canvas.lines.end(), [](const auto& line) { return line.style.width == 1.6; });
  const CanvasPoint middle{(curve->points[0].x + curve->points[1].x) / 2,
                           (curve->points[0].y + curve->points[1].y) / 2};
  EXPECT_EQ(hex(pixel_at(image, middle.x, middle.y)), "#0063a8");
}

TEST(WritePlots, WritesEveryChartOfARun) {
  const RecordedRun run;
  run.write_small();
  const Report report = report_of(*read_run_records(run.folder));
  const auto plots = write_plots(report, run.scratch / "plots");
  ASSERT_TRUE(plots.ok()) << plots.error().message;
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(run.scratch / "plots"))
    files.push_back(entry.path().filename());
  EXPECT_EQ(files.size(), 2 * *plots);
  for (const char* name : {"accuracy-by-round.svg", "accuracy-by-bytes.png", "accuracy-by-cost.svg",
                           "loss-by-compute.png", "loss-by-time.svg", "groups-1.svg", "flow-3.png", "similarity-3.png",
                           "confusion.svg", "clients.png", "drops.svg", "phases.png", "moves.svg", "group-sizes.png"}) {
    EXPECT_THAT(files, Contains(name));
  }
}

}  // namespace
}  // namespace muster
