#include "report/curve_figures.h"

#include <algorithm>
#include <set>

namespace muster {
namespace {

std::optional<double> known(double value) {
  return std::isfinite(value) ? std::optional(value) : std::nullopt;
}

class Curves {
 public:
  Curves(const std::vector<RecordedRound>& rounds, std::size_t most)
      : rounds_(rounds), drawn_(drawn_rounds(rounds, most)) {}

  using Value = std::function<double(const RecordedRound&)>;

  // Rounds without a value are left out; so is a curve without any.
  void add(LineFigure& figure, const std::string& name, const Value& value, bool dashed = false) const {
    add_band(figure, name, value, nullptr, nullptr, dashed);
  }
  void add_band(LineFigure& figure, const std::string& name, const Value& value, const Value& low, const Value& high,
                bool dashed = false) const {
    Series series{.name = name, .x = std::vector<Numbers>(round_axes().size()), .y = {}, .dashed = dashed};
    for (const std::size_t i : drawn_) {
      const RecordedRound& round = rounds_[i];
      if (!std::isfinite(value(round))) continue;
      for (std::size_t a = 0; a < series.x.size(); ++a) series.x[a].push_back(round_axes()[a].place(round));
      series.y.push_back(value(round));
      if (low) series.low.push_back(known(low(round)));
      if (high) series.high.push_back(known(high(round)));
    }
    if (!series.y.empty()) figure.series.push_back(std::move(series));
  }

 private:
  const std::vector<RecordedRound>& rounds_;
  std::vector<std::size_t> drawn_;
};

LineFigure over_rounds(Axis y) {
  LineFigure figure{.x = {}, .y = std::move(y), .series = {}};
  for (const RoundAxis& axis : round_axes()) figure.x.push_back(axis.axis);
  return figure;
}

void append(std::vector<Figure>& figures, Figure figure, LineFigure lines) {
  if (lines.series.empty()) return;
  figure.lines = std::move(lines);
  figures.push_back(std::move(figure));
}

Figure target_table(const RunRecords& run) {
  Figure figure{.id = "targets", .title = "What it took to reach an accuracy"};
  TableFigure table{.columns = {{"target", Unit::kShare},
                                {"round", Unit::kCount},
                                {"bytes, both ways", Unit::kBytes},
                                {"simulated time", Unit::kSeconds},
                                {"time on this machine", Unit::kSeconds}},
                    .rows = {}};
  double last = NAN;
  for (const RecordedRound& round : run.rounds) {
    if (std::isfinite(round.accuracy)) last = round.accuracy;
  }
  std::set<double> targets;
  if (std::isfinite(run.target_accuracy)) targets.insert(run.target_accuracy);
  for (const double share : {0.5, 0.8, 0.95, 1.0}) {
    const double target = std::floor(share * last * 1e4 + 1e-6) / 1e4;
    if (target > 0) targets.insert(target);
  }
  for (const double target : targets) {
    const auto at =
        std::ranges::find_if(run.rounds, [&](const RecordedRound& r) { return r.of_all && r.accuracy >= target; });
    if (at == run.rounds.end()) {
      table.rows.push_back({{.number = target}, {"not reached"}, {"-"}, {"-"}, {"-"}});
    } else {
      table.rows.push_back({{.number = target},
                            {.number = at->round},
                            {.number = at->bytes_up + at->bytes_down},
                            {.number = at->cost_s},
                            {.number = at->wall_s}});
    }
  }
  figure.caption = "Targets are 50, 80, 95 and 100 % of the last accuracy";
  figure.caption += std::isfinite(run.target_accuracy) ? ", and the recipe's." : ".";
  figure.table = std::move(table);
  return figure;
}

}  // namespace

const std::vector<RoundAxis>& round_axes() {
  static const std::vector<RoundAxis> axes{
      {{"round", Unit::kCount, "round"}, [](const RecordedRound& r) { return double{static_cast<double>(r.round)}; }},
      {{"simulated time, computing and sending", Unit::kSeconds, "cost"},
       [](const RecordedRound& r) { return r.cost_s; }},
      {{"simulated time, computing alone", Unit::kSeconds, "compute"},
       [](const RecordedRound& r) { return r.compute_s; }},
      {{"bytes sent, both ways", Unit::kBytes, "bytes"},
       [](const RecordedRound& r) { return r.bytes_up + r.bytes_down; }},
      {{"time on this machine", Unit::kSeconds, "time"}, [](const RecordedRound& r) { return r.wall_s; }}};
  return axes;
}

std::vector<std::size_t> drawn_rounds(const std::vector<RecordedRound>& rounds, std::size_t most) {
  std::vector<std::size_t> drawn;
  if (rounds.size() <= most) {
    for (std::size_t i = 0; i < rounds.size(); ++i) drawn.push_back(i);
    return drawn;
  }
  const std::size_t stretches = std::max<std::size_t>(most / 2, 1);
  drawn.push_back(0);
  for (std::size_t s = 0; s < stretches; ++s) {
    const std::size_t first = s * rounds.size() / stretches;
    const std::size_t end = (s + 1) * rounds.size() / stretches;
    const bool evaluated = std::any_of(rounds.begin() + static_cast<std::ptrdiff_t>(first),
                                       rounds.begin() + static_cast<std::ptrdiff_t>(end),
                                       [](const RecordedRound& r) { return std::isfinite(r.accuracy); });
    std::optional<std::size_t> low;
    std::optional<std::size_t> high;
    for (std::size_t i = first; i < end; ++i) {
      const auto value = [&](std::size_t at) { return evaluated ? rounds[at].accuracy : rounds[at].train_loss; };
      if (!std::isfinite(value(i))) continue;
      if (!low || value(i) < value(*low)) low = i;
      if (!high || value(i) > value(*high)) high = i;
    }
    drawn.push_back(low.value_or(first));
    drawn.push_back(high.value_or(first));
  }
  drawn.push_back(rounds.size() - 1);
  std::ranges::sort(drawn);
  drawn.erase(std::unique(drawn.begin(), drawn.end()), drawn.end());
  return drawn;
}

std::vector<Figure> learning_figures(const RunRecords& run, std::size_t most_points) {
  std::vector<Figure> figures;
  const Curves curves(run.rounds, most_points);
  LineFigure accuracy = over_rounds({"accuracy", Unit::kShare});
  curves.add(accuracy, "accuracy", [](const RecordedRound& r) { return r.accuracy; });
  curves.add(accuracy, "on the clients' tests", [](const RecordedRound& r) { return r.client_accuracy; });
  curves.add(
      accuracy, "on validation samples", [](const RecordedRound& r) { return r.validation_accuracy; }, true);
  append(figures, {.id = "accuracy", .title = "Accuracy"}, std::move(accuracy));

  LineFigure loss = over_rounds({"cross-entropy", Unit::kNone});
  curves.add(loss, "test loss", [](const RecordedRound& r) { return r.loss; });
  curves.add(
      loss, "training loss", [](const RecordedRound& r) { return r.train_loss; }, true);
  curves.add(
      loss, "validation loss", [](const RecordedRound& r) { return r.validation_loss; }, true);
  append(figures, {.id = "loss", .title = "Loss"}, std::move(loss));

  if (std::ranges::any_of(run.rounds, [](const RecordedRound& r) { return std::isfinite(r.accuracy); })) {
    figures.push_back(target_table(run));
  }

  LineFigure spread = over_rounds({"accuracy of a client", Unit::kShare});
  curves.add_band(
      spread, "median, 10th to 90th percentile", [](const RecordedRound& r) { return r.client_p50; },
      [](const RecordedRound& r) { return r.client_p10; }, [](const RecordedRound& r) { return r.client_p90; });
  curves.add(
      spread, "worst client", [](const RecordedRound& r) { return r.client_worst; }, true);
  append(figures,
         {.id = "client-spread",
          .title = "Accuracy from client to client",
          .caption = "Each client counts once, on its own test samples."},
         std::move(spread));

  std::size_t models = 0;
  for (const RecordedRound& round : run.rounds) models = std::max(models, round.group_accuracy.size());
  LineFigure by_group = over_rounds({"accuracy of a group's model", Unit::kShare});
  for (std::size_t g = 0; g < models; ++g) {
    curves.add(by_group, fmt::format("group {}", g),
               [g](const RecordedRound& r) { return g < r.group_accuracy.size() ? r.group_accuracy[g] : NAN; });
  }
  append(figures,
         {.id = "group-accuracy",
          .title = "Accuracy of each group's model",
          .caption = "On its members' test samples. Where groups are formed again, their numbers are given anew."},
         std::move(by_group));

  LineFigure discrepancy = over_rounds({"distance", Unit::kNone});
  curves.add(discrepancy, "discrepancy", [](const RecordedRound& r) { return r.discrepancy; });
  append(figures, {.id = "discrepancy", .title = "Mean distance of the groups' models from the merged one"},
         std::move(discrepancy));
  return figures;
}

}  // namespace muster
