#include "grouping/group_picture.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <vector>

#include "data/image.h"

namespace muster {
namespace {

constexpr std::uint32_t kWidth = 900;
constexpr std::uint32_t kHeight = 180;
constexpr std::uint32_t kMostBars = 300;
constexpr std::uint32_t kNamedClasses = 20;  // more do not fit the legend

// Ten well separated colours for few classes; for more, hues in steps of the golden angle, so that neighbours differ.
Colour class_colour(std::size_t label, std::size_t classes) {
  constexpr std::array<Colour, 10> kFew = {{{64, 110, 170},
                                            {226, 128, 44},
                                            {84, 150, 72},
                                            {196, 66, 62},
                                            {130, 100, 170},
                                            {130, 90, 72},
                                            {218, 130, 180},
                                            {120, 120, 120},
                                            {180, 176, 60},
                                            {70, 170, 190}}};
  if (classes <= kFew.size()) return kFew[label];
  const double hue = std::fmod(static_cast<double>(label) * 0.381966, 1.0) * 6;
  const double light = 0.55 + 0.3 * static_cast<double>(label % 3) / 2;
  const auto channel = [&](double centre) {
    double off = std::abs(hue - centre);
    off = std::min(off, 6 - off);
    const double pure = std::clamp(2 - off, 0.0, 1.0);
    return static_cast<std::uint8_t>(std::lround(255 * light * (0.25 + 0.75 * pure)));
  };
  return {channel(0), channel(2), channel(4)};
}

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

}  // namespace

std::string draw_groups_svg(std::span<const GroupPanel> panels) {
  constexpr double kLeft = 84, kTop = 36, kBelow = 44, kLegend = 130;
  const std::size_t classes = panels.empty() ? 0 : panels[0].counts.width;
  const double panel_height = kTop + kHeight + kBelow;
  const double legend_height = kTop + 16.0 * static_cast<double>(std::min<std::size_t>(classes, kNamedClasses)) + 24;
  const double height = std::max(panel_height * static_cast<double>(panels.size()), legend_height);

  std::string svg;
  const auto out = std::back_inserter(svg);
  fmt::format_to(out,
                 "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\" width=\"{0:.0f}\" "
                 "height=\"{1:.0f}\" font-family=\"sans-serif\" font-size=\"12\" fill=\"#222\">\n"
                 "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n",
                 kLeft + kWidth + kLegend, height);
  double top = kTop;
  for (const GroupPanel& panel : panels) {
    const Bars bars = bars_of(panel);
    const double slot = static_cast<double>(kWidth) / static_cast<double>(std::max<std::size_t>(1, bars.groups.size()));
    const double width = slot * (slot > 4 ? 0.84 : 1);
    const double scale = static_cast<double>(kHeight) / static_cast<double>(bars.tallest);
    const std::string part =
        bars.groups.size() < panel.counts.count()
            ? fmt::format(" (every {:.3g}th group drawn)",
                          static_cast<double>(panel.counts.count()) / static_cast<double>(bars.groups.size()))
            : "";
    fmt::format_to(out, "<text x=\"{}\" y=\"{:.1f}\" font-size=\"14\">{}{}</text>\n", kLeft, top - 14,
                   escaped(panel.title), part);
    for (std::uint64_t tick = 0; tick <= bars.tallest; tick += sample_step(bars.tallest)) {
      const double y = top + kHeight - static_cast<double>(tick) * scale;
      fmt::format_to(out,
                     "<text x=\"{0}\" y=\"{1:.1f}\" text-anchor=\"end\" dominant-baseline=\"central\">{2}</text>\n"
                     "<line x1=\"{3}\" x2=\"{4}\" y1=\"{1:.1f}\" y2=\"{1:.1f}\" stroke=\"#ddd\"/>\n",
                     kLeft - 8, y, tick, kLeft, kLeft + kWidth);
    }
    fmt::format_to(out, "<g shape-rendering=\"crispEdges\">\n");
    for (std::size_t i = 0; i < bars.groups.size(); ++i) {
      double y = top + kHeight;
      const std::span<const std::uint64_t> counts = panel.counts.row(bars.groups[i]);
      for (std::size_t c = 0; c < counts.size(); ++c) {
        if (counts[c] == 0) continue;
        const double tall = static_cast<double>(counts[c]) * scale;
        y -= tall;
        fmt::format_to(out, "<rect x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.2f}\" fill=\"{}\"/>\n",
                       kLeft + (static_cast<double>(i) + 0.5) * slot - width / 2, y, width, tall,
                       hex(class_colour(c, counts.size())));
      }
    }
    fmt::format_to(out, "</g>\n");
    const auto drawn = static_cast<std::uint32_t>(bars.groups.size());
    for (std::uint32_t i = 0; i < drawn; i += tick_step(drawn, 25)) {
      fmt::format_to(out, "<text x=\"{:.2f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>\n",
                     kLeft + (i + 0.5) * slot, top + kHeight + 16, bars.groups[i]);
    }
    fmt::format_to(out,
                   "<text x=\"{}\" y=\"{:.1f}\" text-anchor=\"middle\">group</text>\n"
                   "<text transform=\"translate(16 {:.1f}) rotate(-90)\" text-anchor=\"middle\">samples</text>\n",
                   kLeft + kWidth / 2.0, top + kHeight + 34, top + kHeight / 2.0);
    top += panel_height;
  }
  fmt::format_to(out, "<text x=\"{}\" y=\"{}\">class</text>\n", kLeft + kWidth + 24, kTop - 14);
  for (std::size_t c = 0; c < std::min<std::size_t>(classes, kNamedClasses); ++c) {
    const double y = kTop + 16.0 * static_cast<double>(c);
    fmt::format_to(out,
                   "<rect x=\"{}\" y=\"{}\" width=\"12\" height=\"12\" fill=\"{}\"/>\n"
                   "<text x=\"{}\" y=\"{}\" dominant-baseline=\"central\">{}</text>\n",
                   kLeft + kWidth + 24, y, hex(class_colour(c, classes)), kLeft + kWidth + 42, y + 6, c);
  }
  if (classes > kNamedClasses) {
    fmt::format_to(out, "<text x=\"{}\" y=\"{}\">... {} classes</text>\n", kLeft + kWidth + 24,
                   kTop + 16.0 * kNamedClasses + 10, classes);
  }
  svg += "</svg>\n";
  return svg;
}

Result<std::string> draw_groups_png(std::span<const GroupPanel> panels) {
  constexpr std::uint32_t kTop = 8, kGap = kDigitHeight + 16;
  std::uint32_t left = 0;
  for (const GroupPanel& panel : panels) {
    const std::uint64_t shown = std::min<std::uint64_t>(bars_of(panel).tallest, 999'999'999);
    left = std::max(left, number_width(static_cast<std::uint32_t>(shown)) + 10);
  }
  const auto height = static_cast<std::uint32_t>(panels.size()) * (kHeight + kGap);
  Image image(left + kWidth + 12, kTop + height);
  std::uint32_t top = kTop;
  for (const GroupPanel& panel : panels) {
    const Bars bars = bars_of(panel);
    const auto drawn = static_cast<std::uint32_t>(bars.groups.size());
    const std::uint32_t bottom = top + kHeight;
    const double scale = static_cast<double>(kHeight) / static_cast<double>(bars.tallest);
    for (std::uint64_t tick = 0; tick <= bars.tallest; tick += sample_step(bars.tallest)) {
      const std::uint32_t y = bottom - static_cast<std::uint32_t>(std::lround(static_cast<double>(tick) * scale));
      image.fill(left, y, kWidth, 1, {221, 221, 221});
      if (tick > 999'999'999) continue;
      const std::uint32_t width = number_width(static_cast<std::uint32_t>(tick));
      write_number(image, left - 6 - width, std::max(kDigitHeight / 2, y) - kDigitHeight / 2,
                   static_cast<std::uint32_t>(tick));
    }
    for (std::uint32_t i = 0; i < drawn; ++i) {
      const std::uint32_t begin = left + i * kWidth / drawn;
      const std::uint32_t end = left + (i + 1) * kWidth / drawn;
      const std::uint32_t gap = end - begin > 5 ? 1 : 0;
      std::uint64_t below = 0;
      const std::span<const std::uint64_t> counts = panel.counts.row(bars.groups[i]);
      for (std::size_t c = 0; c < counts.size(); ++c) {
        // Edges are rounded, not heights: so the classes of a bar always meet.
        const auto low = static_cast<std::uint32_t>(std::lround(static_cast<double>(below) * scale));
        below += counts[c];
        const auto high = static_cast<std::uint32_t>(std::lround(static_cast<double>(below) * scale));
        image.fill(begin, bottom - high, end - begin - gap, high - low, class_colour(c, counts.size()));
      }
    }
    for (std::uint32_t i = 0; i < drawn; i += tick_step(drawn, 25)) {
      const std::uint32_t middle = left + (2 * i + 1) * kWidth / (2 * drawn);
      write_number(image, middle - number_width(bars.groups[i]) / 2, bottom + 5, bars.groups[i]);
    }
    top += kHeight + kGap;
  }
  return encode_png(image);
}

}  // namespace muster
