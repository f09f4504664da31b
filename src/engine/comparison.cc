#include "engine/comparison.h"

#include <algorithm>
#include <array>
#include <mutex>
#include <set>

#include "engine/comparison_grid.h"
#include "engine/same_task.h"
#include "recipe/keys.h"

namespace muster {
namespace {

constexpr const char* kValidationKey = "data.validation-fraction";
constexpr const char* kValidationShare = "0.1";

// A run of the sweep: which row, which point, which seed.
struct Place {
  std::size_t row;
  std::size_t point;
  std::size_t seed;
};

struct Plan {
  std::vector<ComparedRow> rows;
  std::vector<std::vector<std::string>> own_keys;  // of each row, with those of its grid
  std::vector<SweepRun> runs;
  std::vector<Place> places;
};

Status check_labels(const std::vector<ComparisonRow>& rows) {
  std::set<std::string> labels;
  for (const ComparisonRow& row : rows) {
    if (!labels.insert(row.label).second) {
      return usage_error("{}: given twice; call one of them otherwise, e.g. second:{}", row.label, row.label);
    }
  }
  return {};
}

// The best point is chosen on validation samples: there must be some.
Status set_validation_aside(std::vector<ComparisonRow>& rows, std::vector<std::string>& notes) {
  const bool chooses =
      std::ranges::any_of(rows, [](const ComparisonRow& row) { return grid_points(row.grid).size() > 1; });
  const bool have =
      std::ranges::any_of(rows, [](const ComparisonRow& r) { return r.recipe.data.validation_fraction > 0; });
  if (!chooses || have) return {};
  for (ComparisonRow& row : rows) {
    if (const Condition* const failing = failing_condition(*find_key(kValidationKey), row.recipe)) {
      return usage_error("{}: a grid needs validation samples, but {} {}", row.label, kValidationKey,
                         why_no_effect(*failing, row.recipe));
    }
    MUSTER_TRY(apply_setting(row.recipe, fmt::format("{}={}", kValidationKey, kValidationShare)));
  }
  notes.push_back(
      fmt::format("{} = {} for every method: the grid's best point is chosen on these samples, which are "
                  "taken from the training part",
                  kValidationKey, kValidationShare));
  return {};
}

Result<Recipe> recipe_of(const ComparisonRow& row, const std::vector<std::string>& settings, std::uint64_t seed) {
  Recipe recipe = row.recipe;
  for (const std::string& setting : settings) MUSTER_TRY(apply_setting(recipe, setting));
  MUSTER_TRY(apply_setting(recipe, fmt::format("seed={}", seed)));
  MUSTER_TRY(check_recipe(recipe));
  return recipe;
}

std::string label_of(const ComparisonRow& row, const std::vector<std::string>& settings) {
  std::string label = row.label;
  for (const std::string& setting : settings) label += "+" + setting;
  return label;
}

// Seeds slowest: runs of one seed share their data.
Result<Plan> plan_runs(const std::vector<ComparisonRow>& rows, std::span<const std::uint64_t> seeds) {
  Plan plan;
  for (const ComparisonRow& row : rows) {
    plan.rows.push_back({.label = row.label});
    for (std::vector<std::string>& settings : grid_points(row.grid)) {
      plan.rows.back().points.push_back({.settings = std::move(settings)});
    }
    plan.own_keys.push_back(row.own_keys);
    for (const GridKey& grid : row.grid) plan.own_keys.back().push_back(grid.key);
  }
  for (std::size_t s = 0; s < seeds.size(); ++s) {
    for (std::size_t r = 0; r < rows.size(); ++r) {
      for (std::size_t p = 0; p < plan.rows[r].points.size(); ++p) {
        const std::vector<std::string>& settings = plan.rows[r].points[p].settings;
        const std::string label = label_of(rows[r], settings);
        Result<Recipe> recipe = recipe_of(rows[r], settings, seeds[s]);
        if (!recipe) return std::move(recipe).error().within(label);
        plan.runs.push_back({.label = label, .recipe = std::move(recipe).value()});
        plan.places.push_back({.row = r, .point = p, .seed = s});
      }
    }
  }
  return plan;
}

// Whether all runs of a seed are of one task, as they come: those that share data come together.
class TaskCheck {
 public:
  explicit TaskCheck(const Plan& plan) : plan_(plan), first_(plan.runs.size()) {}

  // Thread-safe. Entry i of `recipes` is what has become of the recipe of runs[i].
  Status operator()(std::span<const std::size_t> runs, std::span<const Recipe> recipes) {
    const std::lock_guard lock(mutex_);
    for (std::size_t i = 0; i < runs.size(); ++i) {
      std::optional<First>& first = first_[plan_.places[runs[i]].seed];
      if (!first) first.emplace(First{.run = runs[i], .recipe = recipes[i]});
      MUSTER_TRY(check_same_task(std::array{row(first->run, first->recipe), row(runs[i], recipes[i])}));
    }
    return {};
  }

 private:
  struct First {
    std::size_t run;
    Recipe recipe;
  };
  RowOfTask row(std::size_t run, const Recipe& recipe) const {
    return {.label = plan_.runs[run].label, .recipe = &recipe, .own_keys = plan_.own_keys[plan_.places[run].row]};
  }

  const Plan& plan_;
  std::mutex mutex_;
  std::vector<std::optional<First>> first_;  // by seed, guarded by mutex_
};

Status check_before_data(const Plan& plan) {
  TaskCheck check(plan);
  for (std::size_t i = 0; i < plan.runs.size() && plan.places[i].seed == 0; ++i) {
    MUSTER_TRY(check(std::array{i}, std::span(&plan.runs[i].recipe, 1)));
  }
  return {};
}

// All methods begin with the same weights for a seed, whatever they make of them.
Status check_initial_models(const Plan& plan, const std::vector<std::optional<RunCurve>>& runs) {
  for (std::size_t i = 0; i < runs.size(); ++i) {
    for (std::size_t k = i + 1; k < runs.size(); ++k) {
      const std::string& one = runs[i]->initial_model;
      const std::string& other = runs[k]->initial_model;
      if (plan.places[i].seed != plan.places[k].seed || one == other || one.empty() || other.empty()) continue;
      return failure("{} and {} began with different models, seed {}: {} and {}", plan.runs[i].label,
                     plan.runs[k].label, runs[i]->seed, runs[i]->dir.string(), runs[k]->dir.string());
    }
  }
  return {};
}

void judge(ComparedPoint& point) {
  double sum = 0;
  for (const RunCurve& run : point.runs) {
    if (!run.validation) return;
    sum += *run.validation;
  }
  point.validation = sum / static_cast<double>(point.runs.size());
}

}  // namespace

std::size_t best_point(const std::vector<ComparedPoint>& points) {
  std::size_t best = 0;
  for (std::size_t i = 1; i < points.size(); ++i) {
    if (points[i].validation && (!points[best].validation || *points[i].validation > *points[best].validation))
      best = i;
  }
  return best;
}

Result<Comparison> run_comparison(std::vector<ComparisonRow> rows, const ComparisonOptions& options) {
  Comparison comparison{.seeds = options.seeds};
  MUSTER_TRY(check_labels(rows));
  for (ComparisonRow& row : rows) row.grid = keys_that_apply(row.grid, row.recipe, row.label, comparison.notes);
  MUSTER_TRY(set_validation_aside(rows, comparison.notes));
  MUSTER_ASSIGN(Plan plan, plan_runs(rows, options.seeds));
  MUSTER_TRY(check_before_data(plan));
  if (options.sweep.say) {
    for (const std::string& note : comparison.notes) options.sweep.say("note: " + note);
  }
  SweepOptions sweep = options.sweep;
  TaskCheck settled_check(plan);
  sweep.check = [&settled_check](std::span<const std::size_t> runs, std::span<const Recipe> settled) {
    return settled_check(runs, settled);
  };
  MUSTER_ASSIGN(SweepResult result, run_sweep(plan.runs, sweep));
  comparison.interrupted = result.interrupted;
  comparison.all_runs = plan.runs.size();
  comparison.ran = result.ran;
  comparison.finished_runs =
      static_cast<std::size_t>(std::ranges::count_if(result.runs, [](const auto& run) { return run.has_value(); }));
  if (result.interrupted) return comparison;
  MUSTER_TRY(check_initial_models(plan, result.runs));
  for (std::size_t i = 0; i < plan.runs.size(); ++i) {
    plan.rows[plan.places[i].row].points[plan.places[i].point].runs.push_back(std::move(*result.runs[i]));
  }
  for (ComparedRow& row : plan.rows) {
    for (ComparedPoint& point : row.points) judge(point);
    row.chosen = best_point(row.points);
    if (row.points.size() > 1 && !row.best().validation) {
      comparison.notes.push_back(fmt::format(
          "{}: no point of its grid has a validation accuracy with every seed; the first is shown", row.label));
    }
  }
  comparison.rows = std::move(plan.rows);
  return comparison;
}

}  // namespace muster
