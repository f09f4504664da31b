#include "engine/comparison_table.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

namespace muster {
namespace {

constexpr double kShares[] = {0.5, 0.8, 0.95, 1.0};

using Values = std::vector<std::optional<double>>;

// A run without a name is not there, and has no figure.
template <typename Figure>
Values of_runs(const std::vector<RunCurve>& runs, const Figure& figure) {
  Values values;
  for (const RunCurve& run : runs)
    values.push_back(run.run.empty() ? std::nullopt : std::optional<double>(figure(run)));
  return values;
}

std::optional<double> tail_mean(const RunCurve& run, std::uint32_t tail) {
  const std::size_t count = std::min<std::size_t>(run.evaluations.size(), tail);
  if (count == 0) return std::nullopt;
  double sum = 0;
  for (std::size_t i = run.evaluations.size() - count; i < run.evaluations.size(); ++i)
    sum += run.evaluations[i].accuracy;
  return sum / static_cast<double>(count);
}

const EvaluatedRound* first_at(const RunCurve& run, double target) {
  const auto found = std::ranges::find_if(
      run.evaluations, [&](const EvaluatedRound& one) { return one.of_all && one.accuracy >= target; });
  return found == run.evaluations.end() ? nullptr : &*found;
}

TargetFigures to_target(const std::vector<RunCurve>& runs, double target) {
  const auto spread = [&](auto figure) {
    return spread_of(of_runs(runs, [&](const RunCurve& run) -> std::optional<double> {
      const EvaluatedRound* const at = first_at(run, target);
      return at ? std::optional<double>(static_cast<double>(at->*figure)) : std::nullopt;
    }));
  };
  TargetFigures figures{.accuracy = target,
                        .rounds = spread(&EvaluatedRound::round),
                        .bytes = spread(&EvaluatedRound::bytes),
                        .cost_s = spread(&EvaluatedRound::cost_s)};
  figures.reached = figures.rounds.seeds;
  return figures;
}

std::vector<std::string> ids(const std::vector<RunCurve>& runs) {
  std::vector<std::string> result;
  for (const RunCurve& run : runs) result.push_back(run.run);
  return result;
}

Values last_accuracies(const std::vector<RunCurve>& runs) {
  return of_runs(runs, [](const RunCurve& run) { return run.accuracy_last; });
}

MethodFigures figures_of(const ComparedRow& row, std::span<const double> targets, std::uint32_t tail) {
  const std::vector<RunCurve>& runs = row.best().runs;
  MethodFigures figures{.label = row.label, .settings = row.best().settings, .runs = ids(runs)};
  for (const RunCurve& run : runs) {
    figures.signatures.push_back(run.signature);
    figures.diverged += run.stopped == "diverged" ? 1 : 0;
  }
  figures.last_of_seed = last_accuracies(runs);
  figures.last = spread_of(figures.last_of_seed);
  figures.best = spread_of(of_runs(runs, [](const RunCurve& run) { return run.accuracy_best; }));
  figures.tail = spread_of(of_runs(runs, [&](const RunCurve& run) { return tail_mean(run, tail); }));
  figures.wall_s = spread_of(of_runs(runs, [](const RunCurve& run) { return std::optional(run.wall_s); }));
  for (const double target : targets) figures.to_target.push_back(to_target(runs, target));
  for (const ComparedPoint& point : row.points) {
    if (row.points.size() == 1) break;
    figures.grid.push_back({.settings = point.settings,
                            .validation = point.validation,
                            .last = spread_of(last_accuracies(point.runs)),
                            .runs = ids(point.runs)});
  }
  return figures;
}

// Shares of what the first method reaches.
std::vector<double> default_targets(const ComparedRow& first, std::vector<std::string>& notes) {
  const SeedSpread last = spread_of(last_accuracies(first.best().runs));
  std::vector<double> targets;
  if (!last.mean) return targets;
  for (const double share : kShares) {
    // A little more than nothing is added, so that 0.95 * 0.6 is not 0.5699.
    const double target = std::floor(share * *last.mean * 1e4 + 1e-6) / 1e4;
    if (target > 0 && (targets.empty() || target > targets.back())) targets.push_back(target);
  }
  notes.push_back(fmt::format("targets are 50, 80, 95 and 100 % of the last accuracy of {}, {:.2f} %", first.label,
                              100 * *last.mean));
  return targets;
}

}  // namespace

SeedSpread spread_of(const std::vector<std::optional<double>>& values) {
  SeedSpread spread;
  double sum = 0;
  for (const std::optional<double>& value : values) {
    if (!value) continue;
    sum += *value;
    ++spread.seeds;
  }
  if (spread.seeds == 0) return spread;
  spread.mean = sum / spread.seeds;
  if (spread.seeds == 1) return spread;
  double squares = 0;
  for (const std::optional<double>& value : values) {
    if (value) squares += (*value - *spread.mean) * (*value - *spread.mean);
  }
  spread.deviation = std::sqrt(squares / (spread.seeds - 1));
  return spread;
}

ComparisonTable tabulate(const Comparison& comparison, const ComparisonTableOptions& options) {
  MUSTER_CHECK(!comparison.rows.empty(), "no rows");
  ComparisonTable table{.task = options.task,
                        .command = options.command,
                        .seeds = comparison.seeds,
                        .tail = options.tail,
                        .notes = comparison.notes};
  std::vector<double> targets = options.targets;
  std::ranges::sort(targets);
  if (targets.empty()) targets = default_targets(comparison.rows.front(), table.notes);
  for (const ComparedRow& row : comparison.rows) table.methods.push_back(figures_of(row, targets, options.tail));
  for (std::size_t b = 0; b < table.methods.size(); ++b) {
    for (std::size_t a = b + 1; a < table.methods.size(); ++a) {
      const MethodFigures& one = table.methods[a];
      const MethodFigures& other = table.methods[b];
      table.differences.push_back(
          {.a = one.label, .b = other.label, .of_last = paired_difference(one.last_of_seed, other.last_of_seed)});
    }
  }
  for (const MethodFigures& method : table.methods) {
    if (method.diverged == 0) continue;
    table.notes.push_back(fmt::format("{}: diverged with {} of {} seeds; their accuracies are what was left of them",
                                      method.label, method.diverged, table.seeds.size()));
  }
  return table;
}

}  // namespace muster
