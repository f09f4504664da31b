#include "data/picture.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <memory>

#include "base/csv_cell.h"
#include "data/shown_text.h"

namespace muster {
namespace {

// White over blue to near black: an order that also shows in print and to the colour-blind. By the square root of the
// share, so that the tenth of a share that a class of an even ten-class mix has is clearly not white, and a hundredth
// still shows.
Colour colour_of(double share) {
  constexpr std::array<Colour, 5> kScale = {
      {{255, 255, 255}, {189, 215, 240}, {94, 157, 210}, {24, 95, 165}, {8, 34, 84}}};
  const double at = std::sqrt(std::clamp(share, 0.0, 1.0)) * (kScale.size() - 1);
  const auto low = std::min(static_cast<std::size_t>(at), kScale.size() - 2);
  return blend(kScale[low], kScale[low + 1], at - static_cast<double>(low));
}

constexpr double kSize = 12;  // of text
constexpr double kMapWidth = 900;
constexpr double kLongestName = 130;
constexpr double kTitle = 60;   // height of the lines above the map
constexpr double kScale = 110;  // width of the scale beside it
constexpr Colour kFrame = {136, 136, 136};

// The names along an axis, by the number of what they name.
struct Tick {
  std::uint32_t index;
  std::string text;
};

// Names where all fit; else numbers at a round step.
std::vector<Tick> ticks(const std::vector<std::string>& names, std::uint32_t count, std::uint32_t most_names,
                        std::uint32_t most_numbers) {
  std::vector<Tick> found;
  if (!names.empty() && count <= most_names) {
    for (std::uint32_t i = 0; i < count; ++i) {
      found.push_back({i, shortened(names[i].empty() ? fmt::format("{}", i) : names[i], kLongestName, kSize)});
    }
    return found;
  }
  for (std::uint32_t i = 0; i < count; i += tick_step(count, most_numbers)) found.push_back({i, fmt::format("{}", i)});
  return found;
}

double longest(const std::vector<Tick>& found) {
  double width = 0;
  for (const Tick& tick : found) width = std::max(width, text_width(tick.text, kSize));
  return width;
}

// Where everything goes.
struct Layout {
  HeatMap map;
  std::vector<Tick> clients;
  std::vector<Tick> classes;
  double left = 0;
  double cell_width = 0;
  double cell_height = 0;
  double height = 0;      // of the map
  double per_client = 0;  // width
  bool upright = true;    // the clients' names fit beside each other
  double below = 0;       // height of the clients' names

  explicit Layout(const LabelTable& table) : map(heat_map(table, 300)) {
    cell_height = std::clamp(420.0 / std::max(1u, map.rows), 6.0, 30.0);
    cell_width = kMapWidth / std::max(1u, map.columns);
    height = cell_height * map.rows;
    per_client = kMapWidth / std::max(1u, table.clients);
    const auto lines = static_cast<std::uint32_t>(std::max(1.0, height / (kSize + 2)));
    classes = ticks(table.class_names, table.classes, lines, std::min(25u, lines));
    clients = ticks(table.client_names, table.clients, 60, 20);
    left = 40 + longest(classes);
    upright = clients.size() < 2 || longest(clients) + 6 <= per_client * (clients[1].index - clients[0].index);
    below = upright ? kSize : longest(clients);
  }
};

void draw_map(const Layout& at, Canvas& canvas) {
  const double gap_x = at.cell_width >= 8 ? 1 : 0;
  const double gap_y = at.cell_height >= 8 ? 1 : 0;
  for (std::uint32_t column = 0; column < at.map.columns; ++column) {
    for (std::uint32_t row = 0; row < at.map.rows; ++row) {
      const float share = at.map.share(column, row);
      if (share <= 0) continue;
      canvas.fill(at.left + column * at.cell_width, kTitle + row * at.cell_height, at.cell_width - gap_x,
                  at.cell_height - gap_y, colour_of(static_cast<double>(share)));
    }
  }
  canvas.frame(at.left, kTitle, kMapWidth, at.height, kFrame);
}

void draw_axes(const Layout& at, Canvas& canvas) {
  const double bottom = kTitle + at.height;
  for (const Tick& tick : at.clients) {
    const double x = at.left + (tick.index + 0.5) * at.per_client;
    if (at.upright) {
      canvas.text(x, bottom + 12, tick.text, {.size = kSize, .anchor = Anchor::kMiddle});
    } else {
      canvas.text(x, bottom + 6, tick.text, {.size = kSize, .anchor = Anchor::kEnd, .upwards = true});
    }
  }
  for (const Tick& tick : at.classes) {
    canvas.text(at.left - 8, kTitle + (tick.index + 0.5) * at.cell_height, tick.text,
                {.size = kSize, .anchor = Anchor::kEnd});
  }
  canvas.text(at.left + kMapWidth / 2, bottom + at.below + 22, "client", {.size = 13, .anchor = Anchor::kMiddle});
  canvas.text(16, kTitle + at.height / 2, "class", {.size = 13, .anchor = Anchor::kMiddle, .upwards = true});
}

void draw_scale(const Layout& at, Canvas& canvas) {
  constexpr int kSteps = 40;
  const double x = at.left + kMapWidth + 24;
  const double height = std::clamp(at.height, 100.0, 220.0);
  for (int i = 0; i < kSteps; ++i) {
    const double root = (i + 0.5) / kSteps;
    canvas.fill(x, kTitle + height * (1 - (i + 1.0) / kSteps), 14, height / kSteps, colour_of(root * root));
  }
  canvas.frame(x, kTitle, 14, height, kFrame);
  for (const double share : {0.0, 0.1, 0.25, 0.5, 1.0}) {
    canvas.text(x + 20, kTitle + height * (1 - std::sqrt(share)), fmt::format("{:.0f} %", 100 * share),
                {.size = kSize});
  }
  canvas.text(x + 68, kTitle + height / 2, "share of its samples",
              {.size = 13, .anchor = Anchor::kMiddle, .upwards = true});
}

}  // namespace

LabelTable label_table(const FederatedData& data, std::vector<std::string> class_names) {
  LabelTable table{.clients = data.clients(), .classes = data.classes(), .title = data.summary()};
  table.class_names = std::move(class_names);
  table.counts.reserve(std::size_t{table.clients} * table.classes);
  for (std::uint32_t k = 0; k < table.clients; ++k) {
    const std::vector<std::uint32_t> counts = data.label_counts(ClientId{k});
    table.counts.insert(table.counts.end(), counts.begin(), counts.end());
    std::string name = data.client_name(ClientId{k});
    if (!name.empty() && table.client_names.empty()) table.client_names.resize(table.clients);
    if (!name.empty()) table.client_names[k] = std::move(name);
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

Drawing draw_labels(const LabelTable& table) {
  auto at = std::make_shared<const Layout>(table);
  return {.width = at->left + kMapWidth + kScale,
          .height = kTitle + std::max(at->height + at->below + 36, 120.0),
          .draw = [at, &table](Canvas& canvas) {
            canvas.text(at->left, 18, "Classes of the clients' samples", {.size = 16});
            canvas.text(at->left, 40, shortened(table.title, kMapWidth + kScale, kSize), {.size = kSize});
            draw_map(*at, canvas);
            draw_axes(*at, canvas);
            draw_scale(*at, canvas);
          }};
}

std::string draw_svg(const LabelTable& table) {
  return to_svg(draw_labels(table));
}

Result<std::string> draw_png(const LabelTable& table) {
  return to_png(draw_labels(table));
}

std::string write_label_csv(const LabelTable& table) {
  const bool named = !table.client_names.empty();
  std::string text = named ? "client," : "";
  const auto out = std::back_inserter(text);
  for (std::uint32_t c = 0; c < table.classes; ++c) {
    const std::string name = table.class_names.empty() ? std::to_string(c) : table.class_names[c];
    const bool number = name.find_first_not_of("0123456789+-.eE") == std::string::npos;
    if (c > 0) text += ',';
    text += number ? fmt::format("c{}", name) : csv_cell(shown_text(name));
  }
  text += '\n';
  for (std::uint32_t k = 0; k < table.clients; ++k) {
    if (named) text += csv_cell(shown_text(table.client_names[k])) + ",";
    for (std::uint32_t c = 0; c < table.classes; ++c) fmt::format_to(out, "{}{}", c == 0 ? "" : ",", table.count(k, c));
    text += '\n';
  }
  return text;
}

}  // namespace muster
