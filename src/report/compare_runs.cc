#include "report/compare_runs.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/names.h"
#include "engine/comparison_text.h"
#include "report/curve_figures.h"
#include "report/record_lines.h"

namespace muster {
namespace {

using Json = nlohmann::json;
using Keys = std::map<std::string, std::string>;  // of a recipe, "local.epochs" -> "2"

constexpr std::size_t kMostDifferentKeys = 80;
constexpr std::size_t kMostRunRows = 500;

// As recipe.toml has them: a key a line, below its section. Without what tells nothing about the method.
Keys keys_of(const std::string& toml) {
  Keys keys;
  std::string section;
  std::size_t at = 0;
  while (at < toml.size()) {
    const std::size_t end = std::min(toml.find('\n', at), toml.size());
    const std::string line = toml.substr(at, end - at);
    at = end + 1;
    if (line.starts_with("[")) section = line.substr(1, line.find(']') - 1) + ".";
    const std::size_t equals = line.find(" = ");
    if (line.starts_with("[") || line.starts_with("#") || equals == std::string::npos) continue;
    const std::string key = section + line.substr(0, equals);
    if (key != "name" && key != "summary" && key != "seed")
      keys[shown_name(key)] = shown_name(line.substr(equals + 3), 200);
  }
  return keys;
}

// Names, each given once.
void tell_apart(std::vector<MethodRuns>& methods, const std::vector<Keys>& keys) {
  for (std::size_t i = 0; i < methods.size(); ++i) {
    std::vector<std::string> own;
    std::size_t same = 0;
    for (std::size_t j = 0; j < methods.size(); ++j) {
      if (j == i || methods[j].runs[0].recipe_name != methods[i].runs[0].recipe_name) continue;
      ++same;
      for (const auto& [key, value] : keys[i]) {
        const auto other = keys[j].find(key);
        const std::string setting = key + "=" + value;
        const bool differs = other == keys[j].end() || other->second != value;
        if (differs && own.size() < 3 && std::ranges::find(own, setting) == own.end()) own.push_back(setting);
      }
    }
    if (same > 0 && !own.empty()) methods[i].label += fmt::format(" ({})", fmt::join(own, ", "));
  }
  std::map<std::string, std::size_t> seen;
  for (MethodRuns& method : methods) {
    if (const std::size_t times = seen[method.label]++; times > 0) method.label += fmt::format(" #{}", times + 1);
  }
}

RunCurve curve_of(const RunRecords& run) {
  RunCurve curve{.run = run.run, .dir = run.folder};
  curve.seed = run.seed;
  curve.signature = shown_name(text_of(run.summary, "signature"), 32);
  curve.stopped = text_of(run.summary, "stopped");
  curve.rounds = run.rounds.empty() ? 0 : run.rounds.back().round;
  for (const RecordedRound& round : run.rounds) {
    if (!std::isfinite(round.accuracy)) continue;
    curve.evaluations.push_back({.round = round.round,
                                 .accuracy = round.accuracy,
                                 .of_all = round.of_all,
                                 .bytes = static_cast<std::uint64_t>(std::min(round.bytes_up + round.bytes_down, 1e18)),
                                 .cost_s = round.cost_s});
    curve.accuracy_last = round.accuracy;
    if (round.of_all) curve.accuracy_best = std::max(curve.accuracy_best.value_or(0), round.accuracy);
  }
  const Json& told = inner(run.summary, "accuracy");
  const auto told_or = [&](const char* field, const std::optional<double>& seen) {
    const double value = number_of(told, field, NAN);
    return run.phase == RunPhase::kDone && std::isfinite(value) ? std::optional(value) : seen;
  };
  curve.accuracy_last = told_or("last", curve.accuracy_last);
  curve.accuracy_best = told_or("best", curve.accuracy_best);
  curve.wall_s = number_of(inner(run.summary, "time"), "wall_s", run.rounds.empty() ? 0 : run.rounds.back().wall_s);
  return curve;
}

// Mean and deviation of a value over the runs of a method, round by round, as far as half of them have it.
struct MeanCurve {
  std::vector<RecordedRound> rounds;  // `accuracy` is the mean of the value; the axes are means, too
  std::vector<double> deviations;     // NaN of one run
};

using Value = double (*)(const RecordedRound&);

MeanCurve mean_of(const std::vector<RunRecords>& runs, Value value) {
  std::map<std::uint32_t, std::vector<const RecordedRound*>> by_round;
  for (const RunRecords& run : runs) {
    for (const RecordedRound& round : run.rounds) {
      if (std::isfinite(value(round))) by_round[round.round].push_back(&round);
    }
  }
  MeanCurve mean;
  for (const auto& [number, rounds] : by_round) {
    if (2 * rounds.size() < runs.size()) continue;
    const auto count = static_cast<double>(rounds.size());
    RecordedRound sum{.round = number, .accuracy = 0};
    for (const RecordedRound* round : rounds) {
      sum.accuracy += value(*round) / count;
      sum.bytes_up += (round->bytes_up + round->bytes_down) / count;
      sum.compute_s += round->compute_s / count;
      sum.cost_s += round->cost_s / count;
      sum.wall_s += round->wall_s / count;
    }
    double squares = 0;
    for (const RecordedRound* round : rounds) squares += std::pow(value(*round) - sum.accuracy, 2);
    mean.rounds.push_back(sum);
    mean.deviations.push_back(rounds.size() > 1 ? std::sqrt(squares / (count - 1)) : NAN);
  }
  return mean;
}

std::string seeds_text(std::size_t runs) {
  return runs == 1 ? "1 run" : fmt::format("{} runs", runs);
}

void add_curves(std::vector<Figure>& figures, Figure figure, Axis y, const std::vector<MethodRuns>& methods,
                std::size_t most, Value value) {
  LineFigure lines{.x = {}, .y = std::move(y), .series = {}};
  for (const RoundAxis& axis : round_axes()) lines.x.push_back(axis.axis);
  bool several = false;
  for (const MethodRuns& method : methods) {
    const MeanCurve mean = mean_of(method.runs, value);
    Series series{.name = fmt::format("{} ({})", method.label, seeds_text(method.runs.size())),
                  .x = std::vector<Numbers>(lines.x.size()),
                  .y = {}};
    const bool band = method.runs.size() > 1;
    several = several || band;
    for (const std::size_t i : drawn_rounds(mean.rounds, most)) {
      const RecordedRound& round = mean.rounds[i];
      for (std::size_t a = 0; a < lines.x.size(); ++a) series.x[a].push_back(round_axes()[a].place(round));
      series.y.push_back(round.accuracy);
      if (!band) continue;
      const double deviation = std::isfinite(mean.deviations[i]) ? mean.deviations[i] : 0;
      series.low.push_back(round.accuracy - deviation);
      series.high.push_back(round.accuracy + deviation);
    }
    if (!series.y.empty()) lines.series.push_back(std::move(series));
  }
  if (lines.series.empty()) return;
  if (several) figure.caption = "Mean over the runs of a method, and one standard deviation to both sides.";
  figure.lines = std::move(lines);
  figures.push_back(std::move(figure));
}

Figure figure_of(const TextTable& table, std::string id) {
  TableFigure cells;
  for (const std::string& head : table.header) cells.columns.push_back({head, Unit::kNone});
  for (const auto& row : table.rows) {
    std::vector<Cell>& line = cells.rows.emplace_back();
    for (const std::string& cell : row) line.push_back({shown_name(cell, 200)});
  }
  return {.id = std::move(id), .title = table.title, .table = std::move(cells)};
}

// What a reader has to know who sees nothing but the page.
std::string caption_of(const TextTable& one, const ComparisonTable& table) {
  const std::string seeds = table.seeds.size() > 1
                                ? fmt::format("Mean ± standard deviation over {} seeds. ", table.seeds.size())
                                : std::string("One seed. ");
  if (one.header.front() == "pair") {
    return "Per cent points by which the first of a pair is above the second, both with the same seed; p is that of a "
           "two-sided sign test.";
  }
  if (one.header[1] == "target %") {
    return seeds +
           "What it took until the accuracy was first reached: rounds, bytes to and from clients, simulated time. Of "
           "the runs that reached it; the last column says how many did.";
  }
  return fmt::format(
      "{}Accuracy on test samples: after the last round, the highest of any round, and the mean of the last {} "
      "evaluations; wall is the time on the machine that ran it.",
      seeds, table.tail);
}

std::vector<Figure> outcome_figures(const ComparisonTable& table) {
  std::vector<Figure> figures;
  for (const TextTable& one : tables_of(table)) {
    Figure figure = figure_of(one, fmt::format("outcome-{}", figures.size() + 1));
    figure.caption = caption_of(one, table);
    figures.push_back(std::move(figure));
  }
  return figures;
}

// What all runs say, or else what the first one does.
void add_common(Report& report, const std::vector<MethodRuns>& methods, const char* name,
                const std::function<std::string(const RunRecords&)>& told) {
  std::set<std::string> values;
  for (const MethodRuns& method : methods) {
    for (const RunRecords& run : method.runs) values.insert(told(run));
  }
  const RunRecords& first = methods.front().runs.front();
  const std::string value = told(first);
  if (value.empty()) return;
  report.facts.push_back({name, values.size() == 1 ? value : fmt::format("{} (of {})", value, first.run)});
}

Figure different_keys(const std::vector<MethodRuns>& methods) {
  std::vector<Keys> keys;
  std::set<std::string> all;
  for (const MethodRuns& method : methods) {
    keys.push_back(keys_of(method.runs[0].recipe_toml));
    for (const auto& [key, value] : keys.back()) all.insert(key);
  }
  TableFigure table{.columns = {{"key", Unit::kNone}}, .rows = {}};
  for (const MethodRuns& method : methods) table.columns.push_back({method.label, Unit::kNone});
  for (const std::string& key : all) {
    std::vector<Cell> row{{key}};
    std::set<std::string> values;
    for (const Keys& own : keys) {
      const auto found = own.find(key);
      row.push_back({found == own.end() ? "-" : found->second});
      values.insert(row.back().text);
    }
    if (values.size() > 1 && table.rows.size() < kMostDifferentKeys) table.rows.push_back(std::move(row));
  }
  return {.id = "different-keys", .title = "In what their recipes differ", .table = std::move(table)};
}

Figure runs_table(const std::vector<MethodRuns>& methods) {
  TableFigure table{.columns = {{"run", Unit::kNone},
                                {"method", Unit::kNone},
                                {"seed", Unit::kNone},
                                {"state", Unit::kNone},
                                {"rounds", Unit::kCount},
                                {"last accuracy", Unit::kShare},
                                {"best accuracy", Unit::kShare},
                                {"signature", Unit::kNone}},
                    .rows = {}};
  for (const MethodRuns& method : methods) {
    for (const RunRecords& run : method.runs) {
      const RunCurve curve = curve_of(run);
      const auto share = [](const std::optional<double>& value) { return value ? Cell{.number = *value} : Cell{"-"}; };
      if (table.rows.size() == kMostRunRows) break;
      table.rows.push_back({{run.run},
                            {method.label},
                            {fmt::format("{}", run.seed)},
                            {std::string(name(run.phase))},
                            {.number = curve.rounds},
                            share(curve.accuracy_last),
                            share(curve.accuracy_best),
                            {curve.signature}});
    }
  }
  return {.id = "runs", .title = "Runs", .table = std::move(table)};
}

// A figure of the summaries, in the mean over the runs that tell it.
std::optional<double> mean_told(const MethodRuns& method, const char* object, const char* field) {
  double sum = 0;
  std::size_t count = 0;
  for (const RunRecords& run : method.runs) {
    const double value = number_of(inner(run.summary, object), field, NAN);
    if (!std::isfinite(value)) continue;
    sum += value;
    ++count;
  }
  return count > 0 ? std::optional(sum / static_cast<double>(count)) : std::nullopt;
}

struct ToldColumn {
  const char* object;
  const char* field;
  const char* words;
  Unit unit;
};

void add_told(std::vector<Figure>& figures, Figure figure, const std::vector<MethodRuns>& methods,
              std::span<const ToldColumn> columns) {
  TableFigure table{.columns = {{"method", Unit::kNone}}, .rows = {}};
  for (const ToldColumn& column : columns) table.columns.push_back({column.words, column.unit});
  bool any = false;
  for (const MethodRuns& method : methods) {
    std::vector<Cell>& row = table.rows.emplace_back(1, Cell{method.label});
    for (const ToldColumn& column : columns) {
      const auto value = mean_told(method, column.object, column.field);
      any = any || value.has_value();
      row.push_back(value ? Cell{.number = *value} : Cell{"-"});
    }
  }
  if (!any) return;
  figure.table = std::move(table);
  figures.push_back(std::move(figure));
}

void add_phases(std::vector<Figure>& figures, const std::vector<MethodRuns>& methods) {
  BarFigure bars{.categories_axis = {"method", Unit::kNone},
                 .values_axis = {"time on this machine, mean of a run", Unit::kSeconds},
                 .categories = {},
                 .parts = {}};
  for (const MethodRuns& method : methods) bars.categories.push_back(method.label);
  bool any = false;
  for (const auto& [field, words] : {std::pair("setup_s", "setup"),
                                     {"profile_s", "profiles"},
                                     {"group_s", "grouping"},
                                     {"train_s", "training"},
                                     {"eval_s", "evaluation"}}) {
    BarFigure::Part& part = bars.parts.emplace_back(BarFigure::Part{.name = words, .values = {}});
    for (const MethodRuns& method : methods) {
      part.values.push_back(mean_told(method, "time", field));
      any = any || part.values.back().has_value();
    }
  }
  if (any) figures.push_back({.id = "phases", .title = "Where the time went", .bars = std::move(bars)});
}

std::vector<Figure> told_figures(const std::vector<MethodRuns>& methods) {
  std::vector<Figure> figures;
  constexpr ToldColumn kSites[] = {{"sites", "worst", "worst client", Unit::kShare},
                                   {"sites", "p10", "10th percentile", Unit::kShare},
                                   {"sites", "p50", "median", Unit::kShare},
                                   {"sites", "p90", "90th percentile", Unit::kShare}};
  add_told(figures,
           {.id = "sites",
            .title = "Accuracy from client to client, at the end",
            .caption = "Means over the runs of a method."},
           methods, kSites);
  constexpr ToldColumn kGroups[] = {{"groups", "count", "groups", Unit::kCount},
                                    {"groups", "size_mean", "clients of a group", Unit::kNone},
                                    {"quality", "cov_mean", "mean CoV", Unit::kNone},
                                    {"quality", "cpd_median", "median CPD", Unit::kNone}};
  add_told(figures, {.id = "groups", .title = "Groups at the end", .caption = "Means over the runs of a method."},
           methods, kGroups);
  add_phases(figures, methods);
  constexpr ToldColumn kCost[] = {{"cost", "bytes_up", "from clients", Unit::kBytes},
                                  {"cost", "bytes_down", "to clients", Unit::kBytes},
                                  {"cost", "compute_s", "computing, simulated", Unit::kSeconds},
                                  {"cost", "comm_s", "sending, simulated", Unit::kSeconds}};
  add_told(figures, {.id = "cost", .title = "What a run cost", .caption = "Means over the runs of a method."}, methods,
           kCost);
  return figures;
}

}  // namespace

std::vector<MethodRuns> by_method(std::vector<RunRecords> runs) {
  std::vector<MethodRuns> methods;
  std::vector<Keys> keys;
  for (RunRecords& run : runs) {
    Keys own = keys_of(run.recipe_toml);
    const auto found = std::ranges::find(keys, own);
    if (found != keys.end()) {
      methods[static_cast<std::size_t>(found - keys.begin())].runs.push_back(std::move(run));
      continue;
    }
    keys.push_back(std::move(own));
    MethodRuns& method =
        methods.emplace_back(MethodRuns{.label = run.recipe_name.empty() ? run.run : run.recipe_name, .runs = {}});
    method.runs.push_back(std::move(run));
  }
  tell_apart(methods, keys);
  return methods;
}

ComparisonTable table_of(const std::vector<MethodRuns>& methods, ComparisonTableOptions options) {
  // Runs are paired by seed; of several with one seed, the first with the first.
  using Place = std::pair<std::uint64_t, std::size_t>;
  std::set<Place> places;
  std::vector<std::map<Place, const RunRecords*>> placed;
  for (const MethodRuns& method : methods) {
    auto& own = placed.emplace_back();
    std::map<std::uint64_t, std::size_t> times;
    for (const RunRecords& run : method.runs) own[{run.seed, times[run.seed]++}] = &run;
    for (const auto& [place, run] : own) places.insert(place);
  }
  Comparison comparison;
  for (const auto& [seed, time] : places) comparison.seeds.push_back(seed);
  for (std::size_t m = 0; m < methods.size(); ++m) {
    ComparedPoint point;
    for (const Place& place : places) {
      const auto found = placed[m].find(place);
      point.runs.push_back(found == placed[m].end() ? RunCurve{} : curve_of(*found->second));
    }
    comparison.rows.push_back({.label = methods[m].label, .points = {std::move(point)}});
  }
  if (options.task.empty()) options.task = methods.front().runs.front().task;
  return tabulate(comparison, options);
}

Report report_of(const std::string& title, const std::vector<MethodRuns>& methods,
                 const ComparisonTableOptions& table_options, const DescribeOptions& options) {
  Report report{.kind = "comparison", .title = title, .facts = {}, .sections = {}, .runs = {}, .notes = {}};
  const ComparisonTable table = table_of(methods, table_options);
  std::vector<std::string> labels;
  std::size_t runs = 0;
  for (const MethodRuns& method : methods) {
    labels.push_back(method.label);
    runs += method.runs.size();
    for (const RunRecords& run : method.runs) {
      report.runs.push_back(reported(run, method.label));
      for (const std::string& note : run.notes) report.notes.push_back(run.run + ": " + note);
      if (run.phase != RunPhase::kDone)
        report.notes.push_back(fmt::format("{}: {}, so its figures are of what there is", run.run, name(run.phase)));
    }
  }
  report.facts.push_back({"methods", fmt::format("{}", fmt::join(labels, ", "))});
  if (!table.task.empty()) report.facts.push_back({"task", table.task});
  add_common(report, methods, "data",
             [](const RunRecords& run) { return shown_name(text_of(run.summary, "data"), 400); });
  add_common(report, methods, "parameters", [](const RunRecords& run) {
    const double count = number_of(run.summary, "parameters", 0);
    return count > 0 ? number_text(count, Unit::kCount) : std::string();
  });
  add_common(report, methods, "rounds", [](const RunRecords& run) {
    return run.rounds_wanted > 0 ? number_text(run.rounds_wanted, Unit::kCount) : std::string();
  });
  report.facts.push_back({"runs", fmt::format("{}", runs)});
  report.facts.push_back({"seeds", fmt::format("{}", fmt::join(table.seeds, ", "))});
  if (!table.command.empty()) report.facts.push_back({"repeat it", table.command});
  for (const std::string& note : table.notes) report.notes.push_back(shown_name(note, 400));

  std::vector<Figure> learning;
  add_curves(learning, {.id = "accuracy", .title = "Accuracy"}, {"accuracy", Unit::kShare}, methods,
             options.most_points, [](const RecordedRound& r) { return r.accuracy; });
  add_curves(learning, {.id = "loss", .title = "Loss on test samples"}, {"cross-entropy", Unit::kNone}, methods,
             options.most_points, [](const RecordedRound& r) { return r.loss; });
  add_curves(learning, {.id = "train-loss", .title = "Training loss"}, {"cross-entropy", Unit::kNone}, methods,
             options.most_points, [](const RecordedRound& r) { return r.train_loss; });
  add_curves(learning, {.id = "client-worst", .title = "Accuracy of the worst client"}, {"accuracy", Unit::kShare},
             methods, options.most_points, [](const RecordedRound& r) { return r.client_worst; });
  report.sections.push_back({"outcome", "Outcome", outcome_figures(table)});
  if (!learning.empty()) report.sections.push_back({"learning", "Learning", std::move(learning)});
  if (auto told = told_figures(methods); !told.empty())
    report.sections.push_back({"methods", "Method by method", std::move(told)});
  std::vector<Figure> about{runs_table(methods)};
  if (methods.size() > 1) about.push_back(different_keys(methods));
  report.sections.push_back({"runs", "Runs", std::move(about)});
  return report;
}

Result<std::vector<MethodRuns>> read_methods(const ComparedRuns& compared) {
  std::vector<MethodRuns> methods;
  for (const ComparedRuns::Method& method : compared.methods) {
    MethodRuns& own = methods.emplace_back(MethodRuns{.label = method.label, .runs = {}});
    for (const std::filesystem::path& folder : method.folders) {
      MUSTER_ASSIGN(RunRecords run, read_run_records(folder));
      own.runs.push_back(std::move(run));
    }
  }
  return methods;
}

Report report_of(const ComparedRuns& compared, const std::vector<MethodRuns>& methods) {
  return report_of(
      compared.name, methods,
      {.task = compared.task, .command = compared.command, .targets = compared.targets, .tail = compared.tail});
}

Result<Json> describe_comparison(std::span<const std::filesystem::path> folders, const DescribeOptions& options) {
  if (folders.empty()) return failure("no runs to compare");
  if (folders.size() == 1) return describe_run(folders[0], options);
  std::vector<RunRecords> runs;
  for (const std::filesystem::path& folder : folders) {
    MUSTER_ASSIGN(RunRecords run, read_run_records(folder));
    runs.push_back(std::move(run));
  }
  const std::vector<MethodRuns> methods = by_method(std::move(runs));
  std::vector<std::string> labels;
  for (const MethodRuns& method : methods) labels.push_back(method.label);
  return to_json(report_of(shown_name(fmt::format("{}", fmt::join(labels, ", "))), methods, {}, options));
}

}  // namespace muster
