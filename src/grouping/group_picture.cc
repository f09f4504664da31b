#include "grouping/group_picture.h"

#include <algorithm>
#include <array>
#include <vector>

namespace muster {
namespace {

constexpr double kLeft = 96;
constexpr double kWidth = 900;
constexpr double kHeight = 180;  // of the bars
constexpr double kAbove = 40;
constexpr double kBelow = 48;
constexpr double kLegend = 170;
constexpr double kLine = 18;  // of the legend
constexpr std::uint32_t kMostBars = 300;
constexpr std::size_t kNamedClasses = 24;  // more have no colour of their own
constexpr Colour kGrid = {221, 221, 221};

std::uint64_t total_of(std::span<const std::uint64_t> counts) {
  std::uint64_t total = 0;
  for (const std::uint64_t count : counts) total += count;
  return total;
}

// The groups that are drawn, and how tall the tallest is.
struct Bars {
  std::vector<std::uint32_t> groups;
  std::uint64_t tallest = 1;
};

Bars bars_of(const GroupPanel& panel) {
  Bars bars;
  const std::uint32_t groups = panel.counts.count();
  const std::uint32_t drawn = std::min(groups, kMostBars);
  for (std::uint32_t i = 0; i < drawn; ++i) {
    bars.groups.push_back(static_cast<std::uint32_t>(std::uint64_t{i} * groups / drawn));
    bars.tallest = std::max(bars.tallest, total_of(panel.counts.row(bars.groups.back())));
  }
  return bars;
}

// A round number of samples per tick.
std::uint64_t sample_step(std::uint64_t tallest) {
  const std::uint64_t scale = std::max<std::uint64_t>(1, tallest / 1'000'000'000);  // tick_step() counts in 32 bits
  return scale * tick_step(static_cast<std::uint32_t>(tallest / scale) + 1, 5);
}

std::string title_of(const GroupPanel& panel, const Bars& bars) {
  if (bars.groups.size() == panel.counts.count()) return panel.title;
  return fmt::format("{} ({} of them drawn)", panel.title, bars.groups.size());
}

void draw_bars(const GroupPanel& panel, const Bars& bars, double bottom, Canvas& canvas) {
  const double slot = kWidth / static_cast<double>(std::max<std::size_t>(1, bars.groups.size()));
  const double width = slot * (slot > 4 ? 0.84 : 1);
  const double scale = kHeight / static_cast<double>(bars.tallest);
  for (std::size_t i = 0; i < bars.groups.size(); ++i) {
    const double x = kLeft + (static_cast<double>(i) + 0.5) * slot - width / 2;
    const std::span<const std::uint64_t> counts = panel.counts.row(bars.groups[i]);
    std::uint64_t below = 0;
    for (std::size_t c = 0; c < counts.size(); ++c) {
      if (counts[c] == 0) continue;
      const double low = static_cast<double>(below) * scale;
      below += counts[c];
      const double high = static_cast<double>(below) * scale;
      // A white line between two classes of a bar, where there is room: colours alone do not tell all of them apart.
      canvas.fill(x, bottom - high, width, high - low - (high - low > 3 ? 0.5 : 0), class_colour(c, counts.size()));
    }
  }
  const auto drawn = static_cast<std::uint32_t>(bars.groups.size());
  for (std::uint32_t i = 0; i < drawn; i += tick_step(drawn, 25)) {
    canvas.text(kLeft + (i + 0.5) * slot, bottom + 12, fmt::format("{}", bars.groups[i]), {.anchor = Anchor::kMiddle});
  }
}

void draw_panel(const GroupPanel& panel, double top, Canvas& canvas) {
  const Bars bars = bars_of(panel);
  const double bottom = top + kHeight;
  canvas.text(kLeft, top - 18, shortened(title_of(panel, bars), kWidth, 14), {.size = 14});
  for (std::uint64_t tick = 0; tick <= bars.tallest; tick += sample_step(bars.tallest)) {
    const double y = bottom - kHeight * static_cast<double>(tick) / static_cast<double>(bars.tallest);
    canvas.fill(kLeft, y, kWidth, 0.5, kGrid);
    canvas.text(kLeft - 8, y, fmt::format("{}", tick), {.anchor = Anchor::kEnd});
  }
  draw_bars(panel, bars, bottom, canvas);
  canvas.text(kLeft + kWidth / 2, bottom + 32, "group", {.size = 13, .anchor = Anchor::kMiddle});
  canvas.text(16, top + kHeight / 2, "samples", {.size = 13, .anchor = Anchor::kMiddle, .upwards = true});
}

void draw_legend(std::size_t classes, std::span<const std::string> names, Canvas& canvas) {
  const double x = kLeft + kWidth + 24;
  canvas.text(x, kAbove - 18, "class", {.size = 13});
  const std::size_t shown = std::min(classes, kNamedClasses);
  for (std::size_t c = 0; c < shown; ++c) {
    const double y = kAbove + kLine * static_cast<double>(c);
    const std::string name = c < names.size() && !names[c].empty() ? names[c] : fmt::format("{}", c);
    canvas.fill(x, y, 12, 12, class_colour(c, classes));
    canvas.text(x + 20, y + 6, shortened(name, kLegend - 52, 12), {});
  }
  if (classes > shown) {
    canvas.text(x, kAbove + kLine * static_cast<double>(shown) + 6, fmt::format("... {} classes", classes), {});
  }
}

}  // namespace

Colour class_colour(std::size_t label, std::size_t classes) {
  constexpr std::array<Colour, 8> kTold = {{{0, 114, 178},
                                            {230, 159, 0},
                                            {0, 158, 115},
                                            {213, 94, 0},
                                            {86, 180, 233},
                                            {204, 121, 167},
                                            {240, 228, 66},
                                            {0, 0, 0}}};
  const Colour plain = kTold[label % kTold.size()];
  if (classes <= kTold.size()) return plain;
  switch (label / kTold.size() % 3) {
    case 0:
      return plain;
    case 1:
      return blend(plain, {255, 255, 255}, 0.55);
    default:
      return blend(plain, label % kTold.size() == 7 ? Colour{255, 255, 255} : Colour{0, 0, 0}, 0.45);
  }
}

Drawing draw_groups(std::span<const GroupPanel> panels, std::span<const std::string> class_names) {
  const std::size_t classes = panels.empty() ? 0 : panels[0].counts.width;
  constexpr double kPanel = kAbove + kHeight + kBelow;
  const double legend = kAbove + kLine * static_cast<double>(std::min(classes, kNamedClasses) + 1) + 8;
  return {.width = kLeft + kWidth + kLegend,
          .height = std::max(kPanel * static_cast<double>(panels.size()), legend),
          .draw = [=](Canvas& canvas) {
            for (std::size_t i = 0; i < panels.size(); ++i) {
              draw_panel(panels[i], kAbove + kPanel * static_cast<double>(i), canvas);
            }
            draw_legend(classes, class_names, canvas);
          }};
}

}  // namespace muster
