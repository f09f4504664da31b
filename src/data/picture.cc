#include "data/picture.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>

#include "data/image.h"

namespace muster {
namespace {

// White over blue to near black. By the square root of the share, so that the tenth of a share that a class of an even
// ten-class mix has is clearly not white, and a hundredth still shows.
Colour colour_of(float share) {
  constexpr std::array<Colour, 5> kScale = {
      {{255, 255, 255}, {189, 215, 240}, {94, 157, 210}, {24, 95, 165}, {8, 34, 84}}};
  const float at = std::sqrt(std::clamp(share, 0.0f, 1.0f)) * (kScale.size() - 1);
  const auto low = std::min(static_cast<std::size_t>(at), kScale.size() - 2);
  const float part = at - static_cast<float>(low);
  const auto blend = [&](std::uint8_t a, std::uint8_t b) {
    return static_cast<std::uint8_t>(std::lround(a + part * (b - a)));
  };
  const Colour &a = kScale[low], &b = kScale[low + 1];
  return {blend(a.red, b.red), blend(a.green, b.green), blend(a.blue, b.blue)};
}

}  // namespace

LabelTable label_table(const FederatedData& data) {
  LabelTable table{.clients = data.clients(), .classes = data.classes(), .title = data.summary()};
  table.counts.reserve(std::size_t{table.clients} * table.classes);
  for (std::uint32_t k = 0; k < table.clients; ++k) {
    const std::vector<std::uint32_t> counts = data.label_counts(ClientId{k});
    table.counts.insert(table.counts.end(), counts.begin(), counts.end());
  }
  return table;
}

HeatMap heat_map(const LabelTable& table, std::uint32_t most_columns) {
  HeatMap map;
  map.rows = table.classes;
  const std::uint32_t per_column = std::max(1u, (table.clients + most_columns - 1) / most_columns);
  map.columns = (table.clients + per_column - 1) / per_column;
  map.shares.assign(std::size_t{map.columns} * map.rows, 0.0f);
  for (std::uint32_t column = 0; column < map.columns; ++column) {
    // The mean of the clients' own shares, not the share of their sum: a large client must not hide its neighbours.
    float* shares = map.shares.data() + std::size_t{column} * map.rows;
    std::uint32_t holders = 0;
    for (std::uint32_t k = column * per_column; k < std::min((column + 1) * per_column, table.clients); ++k) {
      std::uint64_t total = 0;
      for (std::uint32_t c = 0; c < table.classes; ++c) total += table.count(k, c);
      if (total == 0) continue;
      ++holders;
      for (std::uint32_t c = 0; c < table.classes; ++c) {
        shares[c] += static_cast<float>(table.count(k, c)) / static_cast<float>(total);
      }
    }
    if (holders == 0) continue;
    for (std::uint32_t c = 0; c < table.classes; ++c) shares[c] /= static_cast<float>(holders);
  }
  return map;
}

std::string draw_svg(const LabelTable& table) {
  const HeatMap map = heat_map(table, 300);
  constexpr double kLeft = 64, kTop = 44, kWidth = 900, kLegend = 96;
  const double cell_height = std::clamp(420.0 / std::max(1u, map.rows), 5.0, 30.0);
  const double cell_width = kWidth / std::max(1u, map.columns);
  const double height = cell_height * map.rows;
  const double per_client = kWidth / std::max(1u, table.clients);

  std::string svg;
  const auto out = std::back_inserter(svg);
  fmt::format_to(
      out,
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\" width=\"{0:.0f}\" "
      "height=\"{1:.0f}\" font-family=\"sans-serif\" font-size=\"12\" fill=\"#222\">\n"
      "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n<text x=\"{2}\" y=\"24\" font-size=\"14\">{3}</text>\n",
      kLeft + kWidth + kLegend, kTop + height + 52, kLeft, escaped(table.title));
  fmt::format_to(out, "<g shape-rendering=\"crispEdges\">\n");
  for (std::uint32_t column = 0; column < map.columns; ++column) {
    for (std::uint32_t row = 0; row < map.rows; ++row) {
      if (map.share(column, row) <= 0) continue;
      fmt::format_to(out, "<rect x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.2f}\" fill=\"{}\"/>\n",
                     kLeft + column * cell_width, kTop + row * cell_height, cell_width, cell_height,
                     hex(colour_of(map.share(column, row))));
    }
  }
  fmt::format_to(out, "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{:.2f}\" fill=\"none\" stroke=\"#888\"/>\n</g>\n",
                 kLeft, kTop, kWidth, height);

  for (std::uint32_t k = 0; k < table.clients; k += tick_step(table.clients, 20)) {
    fmt::format_to(out, "<text x=\"{:.2f}\" y=\"{:.2f}\" text-anchor=\"middle\">{}</text>\n",
                   kLeft + (k + 0.5) * per_client, kTop + height + 18, k);
  }
  for (std::uint32_t c = 0; c < table.classes; c += tick_step(table.classes, 25)) {
    fmt::format_to(out, "<text x=\"{}\" y=\"{:.2f}\" text-anchor=\"end\" dominant-baseline=\"central\">{}</text>\n",
                   kLeft - 8, kTop + (c + 0.5) * cell_height, c);
  }
  fmt::format_to(out, "<text x=\"{}\" y=\"{:.2f}\" text-anchor=\"middle\">client</text>\n", kLeft + kWidth / 2,
                 kTop + height + 40);
  fmt::format_to(out, "<text transform=\"translate(18 {:.2f}) rotate(-90)\" text-anchor=\"middle\">class</text>\n",
                 kTop + height / 2);

  const double scale_x = kLeft + kWidth + 24;
  const double scale_height = std::min(height, 200.0);
  constexpr int kSteps = 40;
  for (int i = 0; i < kSteps; ++i) {
    const float root = (static_cast<float>(i) + 0.5f) / kSteps;
    fmt::format_to(out, "<rect x=\"{}\" y=\"{:.2f}\" width=\"14\" height=\"{:.2f}\" fill=\"{}\"/>\n", scale_x,
                   kTop + scale_height * (1 - (i + 1.0) / kSteps), scale_height / kSteps + 0.5,
                   hex(colour_of(root * root)));
  }
  for (const double share : {0.0, 0.1, 0.25, 0.5, 1.0}) {
    fmt::format_to(out, "<text x=\"{}\" y=\"{:.2f}\" dominant-baseline=\"central\">{}</text>\n", scale_x + 20,
                   kTop + scale_height * (1 - std::sqrt(share)), share);
  }
  fmt::format_to(out, "<text x=\"{}\" y=\"{}\">share</text>\n</svg>\n", scale_x, kTop - 10);
  return svg;
}

Result<std::string> draw_png(const LabelTable& table) {
  const HeatMap map = heat_map(table, 600);
  const std::uint32_t cell_width = std::max(1u, 1200 / std::max(1u, map.columns));
  const std::uint32_t cell_height = std::clamp(400 / std::max(1u, map.rows), 4u, 32u);
  const std::uint32_t grid_x = cell_width >= 8 ? 1 : 0;
  const std::uint32_t grid_y = cell_height >= 8 ? 1 : 0;
  const std::uint32_t left = number_width(std::max(1u, table.classes) - 1) + 10;
  const std::uint32_t top = 4;
  const std::uint32_t map_width = map.columns * cell_width;
  const std::uint32_t map_height = map.rows * cell_height;
  Image image(left + map_width + 30, top + map_height + kDigitHeight + 10);
  image.fill(left - 1, top - 1, map_width + 2, map_height + 2, {150, 150, 150});
  for (std::uint32_t column = 0; column < map.columns; ++column) {
    for (std::uint32_t row = 0; row < map.rows; ++row) {
      const std::uint32_t x = left + column * cell_width;
      const std::uint32_t y = top + row * cell_height;
      image.fill(x, y, cell_width, cell_height, {255, 255, 255});
      image.fill(x, y, cell_width - grid_x, cell_height - grid_y, colour_of(map.share(column, row)));
    }
  }
  for (std::uint32_t c = 0; c < table.classes; c += tick_step(table.classes, map_height / (kDigitHeight + 2))) {
    write_number(image, left - 6 - number_width(c),
                 top + c * cell_height + (cell_height - std::min(cell_height, kDigitHeight)) / 2, c);
  }
  for (std::uint32_t k = 0; k < table.clients; k += tick_step(table.clients, 20)) {
    const auto middle = static_cast<std::uint32_t>((k + 0.5) * map_width / table.clients);
    write_number(image, left + middle - std::min(left + middle, number_width(k) / 2), top + map_height + 6, k);
  }
  return encode_png(image);
}

std::string write_label_csv(const LabelTable& table) {
  std::string text;
  const auto out = std::back_inserter(text);
  for (std::uint32_t c = 0; c < table.classes; ++c) fmt::format_to(out, "{}c{}", c == 0 ? "" : ",", c);
  text += '\n';
  for (std::uint32_t k = 0; k < table.clients; ++k) {
    for (std::uint32_t c = 0; c < table.classes; ++c) fmt::format_to(out, "{}{}", c == 0 ? "" : ",", table.count(k, c));
    text += '\n';
  }
  return text;
}

}  // namespace muster
