#include "engine/reproduction.h"

#include <algorithm>
#include <cmath>
#include <ctime>
#include <map>

#include "base/file.h"
#include "engine/forecast.h"
#include "engine/sweep.h"
#include "record/json_text.h"

namespace muster {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

// Evaluations that tell where a row ends, where that is what others have to reach.
constexpr std::uint32_t kEnd = 5;

// One run of a cell, the setting it was made in, and the run of the setting's first row with the same seed.
struct RunOfCell {
  const MeasuredRun* run;
  const PaperSetting* setting;
  const MeasuredRun* first;
};

// The accuracy that the run has to reach; none where the column needs none, or there is nothing to take a share of.
std::optional<double> accuracy_to_reach(const TargetColumn& column, Scale scale, const RunOfCell& of) {
  if (!column.share || (scale == Scale::kFull && column.options.target)) return column.options.target;
  const std::optional<double> whole =
      scale == Scale::kFull ? of.setting->reference : accuracy_at_the_end(*of.first, kEnd);
  return whole ? std::optional(*column.share * *whole) : std::nullopt;
}

struct CellValues {
  std::vector<double> finite;
  std::uint32_t never = 0;  // runs that did not reach the target
  std::uint32_t runs = 0;
};

CellValues measured(const TargetColumn& column, Scale scale, const std::vector<RunOfCell>& runs) {
  CellValues values{.finite = {}, .runs = static_cast<std::uint32_t>(runs.size())};
  for (const RunOfCell& of : runs) {
    MeasureOptions options = column.options;
    options.target = accuracy_to_reach(column, scale, of);
    if (column.measure->needs_target && !options.target) continue;
    const std::optional<double> value = column.measure->of(*of.run, options);
    if (!value) continue;
    if (std::isfinite(*value)) {
      values.finite.push_back(*value);
    } else {
      ++values.never;
    }
  }
  return values;
}

std::optional<double> deviation(const std::vector<double>& values) {
  if (values.size() < 2) return std::nullopt;
  const double middle = *mean_of(values);
  double squares = 0;
  for (const double value : values) squares += (value - middle) * (value - middle);
  return std::sqrt(squares / static_cast<double>(values.size() - 1));
}

// What a column makes of a value and of that of the row it is measured against.
std::optional<double> against(TargetColumn::As as, double value, double other) {
  switch (as) {
    case TargetColumn::As::kValue:
      return value;
    case TargetColumn::As::kDifference:
      return value - other;
    case TargetColumn::As::kChange:
      return other == 0 ? std::nullopt : std::optional(100 * (value / other - 1));
    case TargetColumn::As::kShare:
      return other == 0 ? std::nullopt : std::optional(100 * value / other);
  }
  return std::nullopt;
}

class Tabulation {
 public:
  Tabulation(const Target& target, Scale scale, const ReproductionPlan& plan, const std::vector<MeasuredRun>& runs)
      : target_(target), scale_(scale), plan_(plan), cells_(target.blocks.size() * target.rows.size()) {
    // Runs of a setting come row by row: the first ones are those of the first row that is run.
    std::map<std::pair<std::string, std::uint64_t>, const MeasuredRun*> first;
    for (std::size_t i = 0; i < runs.size(); ++i) {
      const PlannedRun& planned = plan.runs[i];
      const auto [place, is_new] = first.try_emplace({planned.setting, planned.recipe.seed}, &runs[i]);
      cells_[planned.block * target.rows.size() + planned.row].push_back(
          {.run = &runs[i], .setting = &target.setting(planned.setting), .first = place->second});
    }
  }

  std::vector<ReproducedCell> cells() const {
    std::vector<ReproducedCell> result;
    for (std::size_t b = 0; b < target_.blocks.size(); ++b) {
      for (std::size_t r = 0; r < target_.rows.size(); ++r) {
        if (!plan_.blocks[b] || !plan_.rows[r]) continue;
        for (std::size_t c = 0; c < target_.columns.size(); ++c) result.push_back(cell(b, r, c));
      }
    }
    return result;
  }

 private:
  CellValues values(std::size_t block, std::size_t row, const TargetColumn& column) const {
    return measured(column, scale_, cells_[block * target_.rows.size() + row]);
  }

  ReproducedCell cell(std::size_t b, std::size_t r, std::size_t c) const {
    const TargetColumn& column = target_.columns[c];
    ReproducedCell cell{.block = target_.blocks[b].name,
                        .row = target_.rows[r].name,
                        .column = column.name,
                        .unit = column.unit,
                        .digits = column.digits};
    const double paper = target_.paper(b, target_.rows[r], c);
    if (!std::isnan(paper)) cell.paper = paper;
    cell.comparable = !column.share || scale_ == Scale::kFull;
    cell.setting_note = plan_.block_notes[b];
    cell.note = plan_.row_notes[r];
    if (!cell.note.empty()) return cell;
    const CellValues found = values(b, r, column);
    cell.ours = mean_of(found.finite);
    if (!cell.ours && found.never > 0) cell.ours = std::numeric_limits<double>::infinity();
    // Over seeds: settings that are averaged differ on purpose.
    if (target_.blocks[b].settings.size() == 1 && column.versus.empty()) cell.deviation = deviation(found.finite);
    if (!column.versus.empty()) cell.ours = versus(b, column, cell.ours);
    if (found.never > 0 && !found.finite.empty()) {
      cell.note = fmt::format("reached by {} of {} runs", found.finite.size(), found.runs);
    }
    return cell;
  }

  std::optional<double> versus(std::size_t block, const TargetColumn& column, std::optional<double> value) const {
    const auto other = std::ranges::find(target_.rows, column.versus, &TargetRow::name);
    const auto reference =
        mean_of(values(block, static_cast<std::size_t>(other - target_.rows.begin()), column).finite);
    if (!value || std::isinf(*value)) return value;
    if (!reference) return std::nullopt;
    return against(column.as, *value, *reference);
  }

  const Target& target_;
  Scale scale_;
  const ReproductionPlan& plan_;
  std::vector<std::vector<RunOfCell>> cells_;
};

std::vector<SweepRun> runs_of(const ReproductionPlan& plan) {
  std::vector<SweepRun> runs;
  for (const PlannedRun& run : plan.runs) runs.push_back({.label = run.label, .recipe = run.recipe});
  return runs;
}

SweepOptions sweep_options(const ReproductionOptions& options) {
  SweepOptions sweep;
  sweep.threads = options.threads;
  sweep.out = options.out;
  sweep.quiet = options.quiet;
  sweep.interrupt = options.interrupt;
  sweep.say = options.say;
  sweep.ranks = options.ranks;
  return sweep;
}

std::string today() {
  const std::time_t now = std::time(nullptr);
  std::tm date{};
  ::gmtime_r(&now, &date);
  return fmt::format("{:04}-{:02}-{:02}", date.tm_year + 1900, date.tm_mon + 1, date.tm_mday);
}

Json cell_json(const ReproducedCell& cell) {
  const auto never = [](const std::optional<double>& value) { return value && std::isinf(*value); };
  Json json{{"row", cell.block + " / " + cell.row}, {"block", cell.block}, {"name", cell.row}, {"column", cell.column}};
  json["unit"] = cell.unit;
  json["digits"] = cell.digits;
  json["ours"] = json_number(cell.ours);
  json["deviation"] = json_number(cell.deviation);
  json["paper"] = json_number(cell.paper);
  json["difference"] = json_number(difference(cell));
  json["ours_never"] = never(cell.ours);
  json["paper_never"] = never(cell.paper);
  json["comparable"] = cell.comparable;
  json["cell_note"] = cell.note;
  json["setting_note"] = cell.setting_note;
  json["note"] = cell.note + (cell.note.empty() || cell.setting_note.empty() ? "" : "; ") + cell.setting_note;
  return json;
}

std::optional<double> read_number(const Json& json, const char* field, const char* never) {
  if (json.value(never, false)) return std::numeric_limits<double>::infinity();
  const auto found = json.find(field);
  return found != json.end() && found->is_number() ? std::optional(found->get<double>()) : std::nullopt;
}

ReproducedCell cell_of(const Json& json) {
  ReproducedCell cell{.block = json.value("block", ""),
                      .row = json.value("name", ""),
                      .column = json.value("column", ""),
                      .unit = json.value("unit", ""),
                      .digits = std::clamp(json.value("digits", 2), 0, 6)};
  cell.ours = read_number(json, "ours", "ours_never");
  cell.paper = read_number(json, "paper", "paper_never");
  cell.deviation = read_number(json, "deviation", "");
  cell.comparable = json.value("comparable", true);
  cell.note = json.value("cell_note", "");
  cell.setting_note = json.value("setting_note", "");
  return cell;
}

}  // namespace

std::optional<double> difference(const ReproducedCell& cell) {
  if (!cell.comparable || !cell.ours || !cell.paper || !std::isfinite(*cell.ours) || !std::isfinite(*cell.paper)) {
    return std::nullopt;
  }
  return *cell.ours - *cell.paper;
}

fs::path result_file(const fs::path& out, const std::string& target, Scale scale) {
  std::string file = target;
  std::ranges::replace(file, ':', '-');
  return out / "results" / fmt::format("{}-{}.json", file, name(scale));
}

std::string to_json(const Reproduction& reproduction) {
  Json json{{"target", reproduction.target}, {"scale", reproduction.scale},     {"title", reproduction.title},
            {"says", reproduction.says},     {"remark", reproduction.remark},   {"date", reproduction.date},
            {"runs", reproduction.all_runs}, {"differs", reproduction.differs}, {"left_out", reproduction.left_out},
            {"rows", Json::array()}};
  for (const ReproducedCell& cell : reproduction.cells) json["rows"].push_back(cell_json(cell));
  return json_text(json);
}

Result<Reproduction> read_reproduction(const fs::path& file) {
  MUSTER_ASSIGN(const std::vector<std::uint8_t> bytes, read_file(file, std::uint64_t{64} << 20));
  MUSTER_ASSIGN(const nlohmann::json plain, parse_json({reinterpret_cast<const char*>(bytes.data()), bytes.size()}));
  Reproduction result;
  try {
    const Json json = plain;
    result.target = json.at("target").get<std::string>();
    result.scale = json.at("scale").get<std::string>();
    result.title = json.at("title").get<std::string>();
    result.says = json.at("says").get<std::string>();
    result.remark = json.at("remark").get<std::string>();
    result.date = json.at("date").get<std::string>();
    result.all_runs = json.at("runs").get<std::size_t>();
    result.differs = json.at("differs").get<std::vector<std::string>>();
    result.left_out = json.at("left_out").get<std::vector<std::string>>();
    for (const Json& row : json.at("rows")) result.cells.push_back(cell_of(row));
  } catch (const Json::exception&) {
    return failure("{}: not the result of `muster reproduce`", file.string());
  }
  return result;
}

Result<ExpectedTime> expected_time(const Target& target, Scale scale, std::uint32_t threads) {
  MUSTER_ASSIGN(const ReproductionPlan plan, plan_reproduction(target, scale));
  ExpectedTime expected;
  std::map<std::string, Forecast> known;  // seeds take equally long
  for (const PlannedRun& run : plan.runs) {
    ++expected.runs;
    Recipe recipe = run.recipe;
    recipe.seed = 1;
    const auto [place, is_new] = known.try_emplace(format_recipe(recipe));
    if (is_new) {
      Result<Forecast> found = forecast(run.recipe, threads);
      if (!found) return std::move(found).error().within(run.label);
      place->second = std::move(*found);
    }
    expected.seconds += place->second.total_s;
    if (!place->second.clients_per_round) expected.complete = false;
  }
  return expected;
}

Result<Reproduction> reproduce(const Target& target, Scale scale, const ReproductionOptions& options) {
  MUSTER_ASSIGN(const ReproductionPlan plan, plan_reproduction(target, scale));
  MUSTER_ASSIGN(const SweepResult swept, run_sweep(runs_of(plan), sweep_options(options)));
  Reproduction result{.target = target.name,
                      .title = target.title,
                      .says = target.says,
                      .remark = target.remark,
                      .scale = std::string(name(scale)),
                      .date = today(),
                      .differs = plan.differs,
                      .left_out = plan.left_out,
                      .cells = {}};
  result.all_runs = plan.runs.size();
  result.finished_runs =
      static_cast<std::size_t>(std::ranges::count_if(swept.runs, [](const auto& run) { return run.has_value(); }));
  result.ran = swept.ran;
  result.interrupted = swept.interrupted;
  if (result.interrupted) return result;
  std::vector<MeasuredRun> runs;
  for (const std::optional<RunCurve>& curve : swept.runs) {
    MUSTER_ASSIGN(MeasuredRun run, read_measured_run(curve->dir));
    runs.push_back(std::move(run));
  }
  result.cells = Tabulation(target, scale, plan, runs).cells();
  const fs::path file = result_file(options.out, target.name, scale);
  MUSTER_TRY(make_folder(file.parent_path()));
  MUSTER_TRY(write_file(file, to_json(result) + "\n"));
  return result;
}

}  // namespace muster
