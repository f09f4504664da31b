#include "report/client_figures.h"

#include <algorithm>

#include "report/record_lines.h"

namespace muster {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMostClientBars = 500;
constexpr std::size_t kListedClients = 50;
constexpr std::size_t kMostClasses = 100;
constexpr std::size_t kMostDropBars = 100;

std::string group_text(std::uint32_t group) {
  return group == kNoGroupNumber ? "none" : fmt::format("{}", group);
}

// The nearest rank (record/run_figures.h), of values in ascending order.
double percentile(const std::vector<const RecordedClient*>& sorted, double share) {
  const auto rank = static_cast<std::size_t>(std::ceil(share * static_cast<double>(sorted.size())));
  return sorted[std::max<std::size_t>(rank, 1) - 1]->accuracy;
}

Figure client_bars(const std::vector<const RecordedClient*>& sorted, const RunRecords& run) {
  BarFigure bars{.categories_axis = {"client, worst first", Unit::kNone},
                 .values_axis = {"accuracy", Unit::kShare},
                 .categories = {},
                 .parts = {}};
  bars.parts.push_back({.name = "accuracy on its own tests", .values = {}});
  const std::size_t drawn = std::min(sorted.size(), kMostClientBars);
  for (std::size_t i = 0; i < drawn; ++i) {
    const RecordedClient& client = *sorted[drawn == 1 ? 0 : i * (sorted.size() - 1) / (drawn - 1)];
    bars.categories.push_back(run.client_text(client.client));
    bars.parts[0].values.push_back(client.accuracy);
  }
  Figure figure{.id = "clients", .title = "Accuracy of every client", .bars = std::move(bars)};
  figure.caption = "Each on its own test samples, at its last evaluation.";
  if (drawn < sorted.size()) figure.caption += fmt::format(" {} of {} are drawn, evenly.", drawn, sorted.size());
  return figure;
}

Figure percentile_table(const std::vector<const RecordedClient*>& sorted) {
  TableFigure table{.columns = {{"clients", Unit::kNone}, {"accuracy", Unit::kShare}}, .rows = {}};
  double sum = 0;
  for (const RecordedClient* client : sorted) sum += client->accuracy;
  table.rows.push_back({{"worst"}, {.number = sorted.front()->accuracy}});
  for (const int percent : {10, 25, 50, 75, 90}) {
    table.rows.push_back({{fmt::format("{}th percentile", percent)}, {.number = percentile(sorted, percent / 100.0)}});
  }
  table.rows.push_back({{"best"}, {.number = sorted.back()->accuracy}});
  table.rows.push_back({{"mean, each client once"}, {.number = sum / static_cast<double>(sorted.size())}});
  return {.id = "client-percentiles", .title = "Spread of the clients' accuracies", .table = std::move(table)};
}

Figure worst_table(const std::vector<const RecordedClient*>& sorted, const RunRecords& run) {
  TableFigure table{.columns = {{"client", Unit::kNone},
                                {"accuracy", Unit::kShare},
                                {"training samples", Unit::kCount},
                                {"group", Unit::kNone},
                                {"rounds trained", Unit::kCount},
                                {"rounds dropped", Unit::kCount}},
                    .rows = {}};
  for (const RecordedClient* client : sorted) {
    if (table.rows.size() == kListedClients) break;
    table.rows.push_back({{run.client_text(client->client)},
                          {.number = client->accuracy},
                          {.number = client->samples},
                          {group_text(client->group)},
                          {.number = client->trained},
                          {.number = client->dropped}});
  }
  return {.id = "worst-clients",
          .title = sorted.size() > kListedClients
                       ? fmt::format("The {} worst of {} clients", kListedClients, sorted.size())
                       : "Clients, worst first",
          .table = std::move(table)};
}

std::string class_text(const RunRecords& run, std::size_t label) {
  return label < run.class_names.size() && !run.class_names[label].empty() ? run.class_names[label]
                                                                           : fmt::format("{}", label);
}

// Shares of the true class; nothing if it is no square of counts.
std::optional<HeatFigure> confusion_of(const Json& confusion, const RunRecords& run) {
  const std::size_t classes = confusion.size();
  if (!confusion.is_array() || classes == 0 || classes > kMostClasses) return std::nullopt;
  HeatFigure heat{.rows_axis = {"true class", Unit::kNone},
                  .columns_axis = {"predicted class", Unit::kNone},
                  .values_axis = {"share of the true class", Unit::kShare},
                  .rows = {},
                  .columns = {},
                  .values = {}};
  for (const Json& counts : confusion) {
    if (!counts.is_array() || counts.size() != classes) return std::nullopt;
    double total = 0;
    for (const Json& count : counts) {
      if (!count.is_number() || count.get<double>() < 0) return std::nullopt;
      total += count.get<double>();
    }
    heat.rows.push_back(class_text(run, heat.rows.size()));
    Numbers& row = heat.values.emplace_back();
    for (const Json& count : counts)
      row.push_back(total > 0 ? std::optional(count.get<double>() / total) : std::nullopt);
  }
  heat.columns = heat.rows;
  return heat;
}

Cell share_cell(const Json& object, const char* field) {
  const double value = number_of(object, field, NAN);
  return std::isfinite(value) ? Cell{.number = value} : Cell{"-"};
}

BarFigure drop_bars(const RunRecords& run) {
  BarFigure bars{.categories_axis = {"round", Unit::kNone},
                 .values_axis = {"clients dropped", Unit::kCount},
                 .categories = {},
                 .parts = {}};
  for (const std::string& reason : run.reasons) bars.parts.push_back({.name = reason, .values = {}});
  const std::size_t count = std::min(run.rounds.size(), kMostDropBars);
  for (std::size_t b = 0; b < count; ++b) {
    const std::size_t first = b * run.rounds.size() / count;
    const std::size_t end = (b + 1) * run.rounds.size() / count;
    bars.categories.push_back(end == first + 1
                                  ? fmt::format("{}", run.rounds[first].round)
                                  : fmt::format("{}-{}", run.rounds[first].round, run.rounds[end - 1].round));
    for (std::size_t reason = 0; reason < run.reasons.size(); ++reason) {
      double sum = 0;
      for (std::size_t i = first; i < end; ++i) {
        if (reason < run.rounds[i].by_reason.size()) sum += run.rounds[i].by_reason[reason];
      }
      bars.parts[reason].values.push_back(sum);
    }
  }
  return bars;
}

Figure reason_table(const RunRecords& run) {
  TableFigure table{
      .columns = {{"why", Unit::kNone}, {"times", Unit::kCount}, {"share of all that were asked", Unit::kShare}},
      .rows = {}};
  double asked = 0;
  for (const RecordedRound& round : run.rounds) asked += round.participants + round.dropped;
  for (std::size_t reason = 0; reason < run.reasons.size(); ++reason) {
    double times = 0;
    for (const RecordedRound& round : run.rounds)
      times += reason < round.by_reason.size() ? round.by_reason[reason] : 0;
    table.rows.push_back({{run.reasons[reason]}, {.number = times}, {.number = times / asked}});
  }
  return {.id = "drop-reasons", .title = "Why clients were dropped", .table = std::move(table)};
}

Figure dropped_clients(const RunRecords& run) {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> clients(run.drops_of_client.begin(), run.drops_of_client.end());
  std::ranges::stable_sort(clients, [](const auto& a, const auto& b) { return a.second > b.second; });
  TableFigure table{.columns = {{"client", Unit::kNone}, {"times dropped", Unit::kCount}}, .rows = {}};
  for (const auto& [client, times] : clients) {
    if (table.rows.size() == kListedClients) break;
    table.rows.push_back({{run.client_text(client)}, {.number = times}});
  }
  return {.id = "dropped-clients",
          .title = clients.size() > kListedClients ? fmt::format("The {} of {} clients that were dropped most often",
                                                                 kListedClients, clients.size())
                                                   : "Clients that were dropped",
          .table = std::move(table)};
}

Figure ledger_table(const RecordedLedger& ledger) {
  TableFigure table{.columns = {{"what happened", Unit::kNone}, {"times", Unit::kCount}}, .rows = {}};
  const auto add = [&](const std::string& what, std::uint64_t times) {
    if (times > 0) table.rows.push_back({{what}, {.number = static_cast<double>(times)}});
  };
  add("the cloud started", ledger.starts);
  add("clients came", ledger.came);
  add("clients went", ledger.went);
  for (const auto& [kind, times] : ledger.asks) add("asked to " + kind, times);
  add("answers that were used", ledger.used);
  for (const auto& [reason, times] : ledger.unused) add("answers not used: " + reason, times);
  for (const auto& [reason, times] : ledger.missed) add("no answer: " + reason, times);
  for (const auto& [reason, times] : ledger.refused) add("replies refused: " + reason, times);
  return {.id = "ledger", .title = "What the cloud's ledger tells", .table = std::move(table)};
}

}  // namespace

std::vector<Figure> client_figures(const RunRecords& run) {
  std::vector<const RecordedClient*> sorted;
  for (const RecordedClient& client : run.clients) {
    if (std::isfinite(client.accuracy)) sorted.push_back(&client);
  }
  if (sorted.empty()) return {};
  std::ranges::stable_sort(sorted, [](const auto* a, const auto* b) { return a->accuracy < b->accuracy; });
  return {client_bars(sorted, run), percentile_table(sorted), worst_table(sorted, run)};
}

std::vector<Figure> class_figures(const RunRecords& run) {
  std::vector<Figure> figures;
  const Json& metrics = inner(run.summary, "metrics");
  if (auto heat = confusion_of(inner(metrics, "confusion"), run)) {
    figures.push_back({.id = "confusion",
                       .title = "What is taken for what",
                       .caption = "Of the models that the run leaves, on test samples.",
                       .heat = std::move(heat)});
  }
  const Json& classes = inner(metrics, "classes");
  if (!classes.is_array() || classes.empty()) return figures;
  TableFigure table{.columns = {{"class", Unit::kNone},
                                {"precision", Unit::kShare},
                                {"recall", Unit::kShare},
                                {"F1", Unit::kShare},
                                {"test samples", Unit::kCount}},
                    .rows = {}};
  for (const Json& one : classes) {
    if (table.rows.size() == 2 * kMostClasses) break;
    table.rows.push_back({{class_text(run, table.rows.size())},
                          share_cell(one, "precision"),
                          share_cell(one, "recall"),
                          share_cell(one, "f1"),
                          {.number = number_of(one, "samples", 0)}});
  }
  figures.push_back({.id = "classes", .title = "Class by class", .table = std::move(table)});
  return figures;
}

std::vector<Figure> drop_figures(const RunRecords& run) {
  std::vector<Figure> figures;
  if (!run.reasons.empty()) {
    figures.push_back({.id = "drops", .title = "Clients dropped by round", .bars = drop_bars(run)});
    figures.push_back(reason_table(run));
    figures.push_back(dropped_clients(run));
  }
  if (run.ledger.lines > 0) figures.push_back(ledger_table(run.ledger));
  return figures;
}

std::vector<Figure> time_figures(const RunRecords& run) {
  std::vector<Figure> figures;
  const Json& time = inner(run.summary, "time");
  if (time.is_object()) {
    BarFigure bars{.categories_axis = {"phase", Unit::kNone},
                   .values_axis = {"time on this machine", Unit::kSeconds},
                   .categories = {},
                   .parts = {}};
    bars.parts.push_back({.name = "seconds", .values = {}});
    double rest = number_of(time, "wall_s", 0);
    for (const auto& [field, words] : {std::pair("setup_s", "setup"),
                                       {"profile_s", "profiles"},
                                       {"group_s", "grouping"},
                                       {"train_s", "training"},
                                       {"eval_s", "evaluation"}}) {
      const double seconds = std::max(0.0, number_of(time, field, 0));
      bars.categories.emplace_back(words);
      bars.parts[0].values.push_back(seconds);
      rest -= seconds;
    }
    bars.categories.emplace_back("the rest");
    bars.parts[0].values.push_back(std::max(0.0, rest));
    figures.push_back({.id = "phases",
                       .title = "Where the time went",
                       .caption = "Evaluation that went on beside training is not counted.",
                       .bars = std::move(bars)});
  }
  const Json& cost = inner(run.summary, "cost");
  if (cost.is_object()) {
    TableFigure table{.columns = {{"simulated", Unit::kNone}, {"amount", Unit::kNone}}, .rows = {}};
    const auto add = [&](const char* field, const char* words, Unit unit) {
      const double value = number_of(cost, field, NAN);
      if (std::isfinite(value)) table.rows.push_back({{words}, {number_text(value, unit)}});
    };
    add("compute_s", "computing", Unit::kSeconds);
    add("comm_s", "sending", Unit::kSeconds);
    add("bytes_up", "from clients", Unit::kBytes);
    add("bytes_down", "to clients", Unit::kBytes);
    add("bytes_client_server", "between clients and their server", Unit::kBytes);
    add("bytes_relay", "from client to client", Unit::kBytes);
    add("bytes_edge_cloud", "between edges and the cloud", Unit::kBytes);
    figures.push_back({.id = "cost", .title = "What the run cost, simulated", .table = std::move(table)});
  }
  return figures;
}

}  // namespace muster
