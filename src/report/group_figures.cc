#include "report/group_figures.h"

#include <algorithm>
#include <numeric>

#include "base/names.h"
#include "data/image.h"
#include "grouping/group_picture.h"

namespace muster {
namespace {

constexpr std::size_t kMostBars = 100;
constexpr std::size_t kMostPanels = 4;
constexpr std::size_t kMostStacked = 60;  // groupings whose groups are drawn on each other
constexpr std::size_t kMostLayers = 30;   // groups of such
constexpr std::size_t kMostFlowGroups = 40;
constexpr std::size_t kMostFlowPanels = 3;  // of more regroupings the last alone
constexpr std::size_t kMostMoverRows = 100;
constexpr std::size_t kMostParts = 64;  // classes with a part of their own

// Evenly chosen places of `count`, the first and the last included.
std::vector<std::size_t> some_of(std::size_t count, std::size_t most) {
  std::vector<std::size_t> places;
  const std::size_t chosen = std::min(count, most);
  for (std::size_t i = 0; i < chosen; ++i) places.push_back(chosen == 1 ? count - 1 : i * (count - 1) / (chosen - 1));
  return places;
}

// Of label counts: their standard deviation over their mean. 0 = all classes alike.
double coefficient_of_variation(const std::vector<double>& counts) {
  double total = 0;
  double squares = 0;
  for (const double count : counts) {
    total += count;
    squares += count * count;
  }
  const auto classes = static_cast<double>(counts.size());
  return total > 0 ? std::sqrt(std::max(0.0, classes * squares / (total * total) - 1)) : NAN;
}

std::string quality_text(const RecordedGrouping& grouping) {
  std::string text;
  const auto add = [&](const char* field, const char* words) {
    const auto found = grouping.quality.find(field);
    if (found != grouping.quality.end())
      text += fmt::format("{}{} {:.3g}", text.empty() ? "" : ", ", words, found->second);
  };
  add("cov_mean", "mean CoV");
  add("cpd_median", "median CPD");
  add("client_cpd_median", "of single clients");
  return text;
}

std::string formed_text(const RecordedGrouping& grouping) {
  return fmt::format("{} by {} before round {}", counted(grouping.count, "group"), grouping.method, grouping.round);
}

Figure class_bars(const DetailedGrouping& grouping, const RunRecords& run) {
  Figure figure{.id = fmt::format("groups-{}", grouping.about.round), .title = formed_text(grouping.about)};
  const std::vector<std::size_t> shown = some_of(grouping.labels.size(), kMostBars);
  std::size_t classes = 0;
  for (const auto& counts : grouping.labels) classes = std::max(classes, counts.size());
  BarFigure bars{.categories_axis = {"group", Unit::kNone},
                 .values_axis = {"samples", Unit::kCount},
                 .categories = {},
                 .parts = {}};
  const std::size_t parts = std::min(classes, kMostParts);
  for (std::size_t c = 0; c < parts; ++c) {
    const bool rest = c + 1 == parts && classes > parts;
    const std::string name =
        c < run.class_names.size() && !run.class_names[c].empty() ? run.class_names[c] : fmt::format("class {}", c);
    bars.parts.push_back(
        {.name = rest ? "other classes" : name, .values = {}, .colour = hex(class_colour(c, classes))});
  }
  for (const std::size_t g : shown) {
    const std::vector<double>& counts = grouping.labels[g];
    bars.categories.push_back(fmt::format("{} (CoV {:.2f})", g, coefficient_of_variation(counts)));
    for (std::size_t c = 0; c < parts; ++c) {
      double value = c < counts.size() ? counts[c] : 0;
      if (c + 1 == parts) {
        for (std::size_t more = parts; more < counts.size(); ++more) value += counts[more];
      }
      bars.parts[c].values.push_back(value);
    }
  }
  figure.caption = quality_text(grouping.about);
  if (shown.size() < grouping.labels.size()) {
    figure.caption += fmt::format("{}{} of {} groups are drawn", figure.caption.empty() ? "" : "; ", shown.size(),
                                  grouping.labels.size());
  }
  if (!figure.caption.empty()) figure.caption += ".";
  for (const std::string& note : grouping.notes) figure.caption += " " + note + ".";
  figure.bars = std::move(bars);
  return figure;
}

// Where nobody told true labels: how many clients are in each.
Figure size_bars(const DetailedGrouping& grouping) {
  Figure figure{.id = fmt::format("groups-{}", grouping.about.round), .title = formed_text(grouping.about)};
  figure.caption = "Of which classes they are was not told.";
  BarFigure bars{.categories_axis = {"group", Unit::kNone},
                 .values_axis = {"clients", Unit::kCount},
                 .categories = {},
                 .parts = {}};
  bars.parts.push_back({.name = "clients", .values = {}});
  for (const std::size_t g : some_of(grouping.about.sizes.size(), kMostBars)) {
    bars.categories.push_back(fmt::format("{}", g));
    bars.parts[0].values.push_back(grouping.about.sizes[g]);
  }
  figure.bars = std::move(bars);
  return figure;
}

Figure sizes_stacked(const std::vector<RecordedGrouping>& groupings, std::size_t layers) {
  Figure figure{.id = "group-sizes", .title = "Sizes of the groups each time they were formed"};
  BarFigure bars{.categories_axis = {"formed before round", Unit::kNone},
                 .values_axis = {"clients", Unit::kCount},
                 .categories = {},
                 .parts = {}};
  for (std::size_t g = 0; g < layers; ++g) {
    bars.parts.push_back({.name = fmt::format("group {}", g), .values = {}, .colour = hex(class_colour(g, layers))});
  }
  for (const RecordedGrouping& grouping : groupings) {
    bars.categories.push_back(fmt::format("{}", grouping.round));
    for (std::size_t g = 0; g < layers; ++g) {
      bars.parts[g].values.push_back(g < grouping.sizes.size() ? std::optional<double>(grouping.sizes[g])
                                                               : std::nullopt);
    }
  }
  figure.bars = std::move(bars);
  return figure;
}

using Of = std::function<double(const RecordedGrouping&)>;
void add_curve(LineFigure& lines, const std::string& name, const std::vector<RecordedGrouping>& groupings,
               std::size_t most, const Of& value, bool dashed = false) {
  Series series{.name = name, .x = {{}}, .y = {}, .dashed = dashed};
  for (const std::size_t i : some_of(groupings.size(), most)) {
    const double y = value(groupings[i]);
    if (!std::isfinite(y)) continue;
    series.x[0].push_back(groupings[i].round);
    series.y.push_back(y);
  }
  if (!series.y.empty()) lines.series.push_back(std::move(series));
}

LineFigure over_groupings(Axis y) {
  return {.x = {{"formed before round", Unit::kCount}}, .y = std::move(y), .series = {}};
}

Figure sizes_as_curves(const std::vector<RecordedGrouping>& groupings, std::size_t most) {
  Figure figure{.id = "group-sizes", .title = "Sizes of the groups each time they were formed"};
  LineFigure lines = over_groupings({"clients of a group", Unit::kCount});
  add_curve(lines, "largest", groupings, most, [](const RecordedGrouping& g) {
    return g.sizes.empty() ? NAN : double{static_cast<double>(*std::ranges::max_element(g.sizes))};
  });
  add_curve(lines, "mean", groupings, most, [](const RecordedGrouping& g) {
    return g.sizes.empty() ? NAN
                           : std::accumulate(g.sizes.begin(), g.sizes.end(), 0.0) / static_cast<double>(g.sizes.size());
  });
  add_curve(lines, "smallest", groupings, most, [](const RecordedGrouping& g) {
    return g.sizes.empty() ? NAN : double{static_cast<double>(*std::ranges::min_element(g.sizes))};
  });
  add_curve(
      lines, "number of groups", groupings, most, [](const RecordedGrouping& g) { return g.count; }, true);
  figure.lines = std::move(lines);
  return figure;
}

void add_quality(std::vector<Figure>& figures, const std::vector<RecordedGrouping>& groupings, std::size_t most) {
  LineFigure lines = over_groupings({"CoV, CPD", Unit::kNone});
  const auto field = [](const char* name) {
    return [name](const RecordedGrouping& g) {
      const auto found = g.quality.find(name);
      return found == g.quality.end() ? NAN : found->second;
    };
  };
  add_curve(lines, "mean CoV of the groups", groupings, most, field("cov_mean"));
  add_curve(lines, "median CPD of two groups", groupings, most, field("cpd_median"));
  add_curve(lines, "median CPD of two clients", groupings, most, field("client_cpd_median"), true);
  if (lines.series.empty()) return;
  figures.push_back(
      {.id = "group-quality",
       .title = "How even the groups are",
       .caption =
           "CoV: deviation of a group's label counts over their mean, 0 = all classes alike. CPD: distance between "
           "the class shares of two groups, 0 = alike.",
       .lines = std::move(lines)});
}

void add_moves(std::vector<Figure>& figures, const RunRecords& run, std::size_t most) {
  const std::vector<RecordedGrouping> again(run.groupings.begin() + 1, run.groupings.end());
  LineFigure lines = over_groupings({"clients", Unit::kCount});
  add_curve(lines, "moved", again, most, [](const RecordedGrouping& g) { return g.moved; });
  add_curve(lines, "stayed", again, most, [](const RecordedGrouping& g) { return g.stayed; });
  add_curve(
      lines, "joined a group", again, most, [](const RecordedGrouping& g) { return g.joined; }, true);
  add_curve(
      lines, "left all groups", again, most, [](const RecordedGrouping& g) { return g.left; }, true);
  figures.push_back(
      {.id = "moves",
       .title = "Who moved when groups were formed again",
       .caption =
           "A group goes on as the new group with which it shares most clients, each new group taken once; clients "
           "that are elsewhere have moved.",
       .lines = std::move(lines)});
}

void add_flows(std::vector<Figure>& figures, const DetailedGrouping& now, const RunRecords& run) {
  const std::size_t rows = now.count_before;
  const std::size_t columns = now.about.count;
  if (rows == 0 || now.flows.empty()) return;
  if (rows <= kMostFlowGroups && columns <= kMostFlowGroups) {
    HeatFigure heat{.rows_axis = {"group before", Unit::kNone},
                    .columns_axis = {"group now", Unit::kNone},
                    .values_axis = {"clients", Unit::kCount},
                    .rows = {},
                    .columns = {},
                    .values = std::vector<Numbers>(rows, Numbers(columns, 0.0))};
    for (std::size_t g = 0; g < rows; ++g) heat.rows.push_back(fmt::format("{}", g));
    for (std::size_t g = 0; g < columns; ++g) heat.columns.push_back(fmt::format("{}", g));
    for (const auto& flow : now.flows) {
      if (flow.from < rows && flow.to < columns) heat.values[flow.from][flow.to] = flow.clients;
    }
    figures.push_back(
        {.id = fmt::format("flow-{}", now.about.round),
         .title = fmt::format("From the groups of round {} to those of round {}", now.before, now.about.round),
         .caption = fmt::format("{} moved, {} stayed.", counted(now.about.moved, "client"), now.about.stayed),
         .heat = std::move(heat)});
  }
  if (now.movers.empty()) return;
  TableFigure table{.columns = {{"client", Unit::kNone},
                                {"group before", Unit::kCount},
                                {"which goes on as", Unit::kCount},
                                {"group now", Unit::kCount}},
                    .rows = {}};
  for (const auto& mover : now.movers) {
    if (table.rows.size() == kMostMoverRows) break;
    table.rows.push_back({{run.client_text(mover.client)},
                          {.number = mover.from},
                          mover.goes_on_as == kNoGroupNumber ? Cell{"none"} : Cell{.number = mover.goes_on_as},
                          {.number = mover.to}});
  }
  figures.push_back({.id = fmt::format("movers-{}", now.about.round),
                     .title = fmt::format("Who moved before round {}", now.about.round),
                     .caption = table.rows.size() < now.about.moved
                                    ? fmt::format("The first {} of {}.", table.rows.size(), now.about.moved)
                                    : "",
                     .table = std::move(table)});
}

Figure similarity(const RecordedDistances& distances, const RunRecords& run) {
  std::vector<std::size_t> order(distances.clients.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order,
                           [&](std::size_t a, std::size_t b) { return distances.group_of[a] < distances.group_of[b]; });
  HeatFigure heat{
      .rows_axis = {"client, by group", Unit::kNone},
      .columns_axis = {"client, by group", Unit::kNone},
      .values_axis = {distances.metric == "cosine" ? "1 - cosine" : distances.metric + " distance", Unit::kNone},
      .rows = {},
      .columns = {},
      .values = {}};
  for (const std::size_t i : order) {
    const std::string group =
        distances.group_of[i] == kNoGroupNumber ? "none" : fmt::format("{}", distances.group_of[i]);
    heat.rows.push_back(fmt::format("{} (group {})", run.client_text(distances.clients[i]), group));
    Numbers& row = heat.values.emplace_back();
    for (const std::size_t j : order) {
      const double value = distances.rows[i][j];
      row.push_back(std::isfinite(value) ? std::optional(std::round(value * 1e4) / 1e4) : std::nullopt);
    }
  }
  heat.columns = heat.rows;
  heat.strong_low = true;
  return {
      .id = fmt::format("similarity-{}", distances.round),
      .title = fmt::format("How far apart clients were before round {}", distances.round),
      .caption = "Clients in the order of their groups: strong blocks along the diagonal are clients that are alike.",
      .heat = std::move(heat)};
}

}  // namespace

std::vector<Figure> group_figures(const RunRecords& run, std::size_t most_points) {
  std::vector<Figure> figures;
  std::size_t largest = 0;
  std::size_t layers = 0;
  for (const RecordedGrouping& grouping : run.groupings) {
    layers = std::max(layers, grouping.sizes.size());
    for (const std::uint32_t size : grouping.sizes) largest = std::max<std::size_t>(largest, size);
  }
  if (largest <= 1 && run.distances.empty()) return figures;  // every client by itself
  for (const std::size_t i : some_of(run.detailed.size(), kMostPanels)) {
    const DetailedGrouping& grouping = run.detailed[i];
    if (!grouping.labels.empty()) {
      figures.push_back(class_bars(grouping, run));
    } else if (!grouping.about.sizes.empty()) {
      figures.push_back(size_bars(grouping));
    }
  }
  if (run.groupings.size() > 1) {
    const bool few = run.groupings.size() <= kMostStacked && layers <= kMostLayers;
    figures.push_back(few ? sizes_stacked(run.groupings, layers) : sizes_as_curves(run.groupings, most_points));
    add_quality(figures, run.groupings, most_points);
    add_moves(figures, run, most_points);
    const std::size_t first = run.groupings.size() > 1 + kMostFlowPanels ? run.detailed.size() - 1 : 1;
    for (std::size_t i = first; i < run.detailed.size(); ++i) add_flows(figures, run.detailed[i], run);
  }
  for (const RecordedDistances& distances : run.distances) figures.push_back(similarity(distances, run));
  return figures;
}

}  // namespace muster
