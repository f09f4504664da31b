#include "report/describe.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/names.h"
#include "base/shell_word.h"
#include "report/client_figures.h"
#include "report/curve_figures.h"
#include "report/group_figures.h"
#include "report/record_lines.h"

namespace muster {
namespace {

using Json = nlohmann::json;

std::string percent(double share) {
  return std::isfinite(share) ? number_text(share, Unit::kShare) : std::string("-");
}

std::string state_text(const RunRecords& run) {
  const std::uint32_t done = run.rounds.empty() ? 0 : run.rounds.back().round;
  const std::string rounds =
      run.rounds_wanted > 0 ? fmt::format("round {} of {}", done, run.rounds_wanted) : fmt::format("round {}", done);
  const std::string stopped = text_of(run.summary, "stopped");
  switch (run.phase) {
    case RunPhase::kRunning:
      return fmt::format("running, {}", rounds);
    case RunPhase::kInterrupted:
      return fmt::format("interrupted after {}", rounds);
    case RunPhase::kUnfinished:
      return fmt::format("not finished: {} was the last, and nobody runs it", rounds);
    case RunPhase::kDone:
      break;
  }
  if (stopped == "target") return fmt::format("target accuracy reached in {}", rounds);
  if (stopped == "budget") return fmt::format("budget spent after {}", rounds);
  if (stopped == "patience") return fmt::format("validation accuracy no longer rises, after {}", rounds);
  if (stopped == "diverged") return fmt::format("diverged after {}", rounds);
  return fmt::format("all {} done", counted(done, "round"));
}

// Accuracies are of the rounds where there is no summary yet.
void add_accuracy(const RunRecords& run, std::vector<Fact>& facts) {
  double last = NAN;
  double best = NAN;
  std::uint32_t best_round = 0;
  for (const RecordedRound& round : run.rounds) {
    if (!std::isfinite(round.accuracy)) continue;
    last = round.accuracy;
    // Of some clients it may be high by chance, and is no best.
    if (round.of_all && !(round.accuracy <= best)) {
      best = round.accuracy;
      best_round = round.round;
    }
  }
  const Json& told = inner(run.summary, "accuracy");
  if (run.phase == RunPhase::kDone) {
    last = number_of(told, "last", last);
    best = number_of(told, "best", best);
    best_round = count_of(told, "best_round", best_round);
  }
  if (!std::isfinite(last)) return;
  std::string text = "last " + percent(last);
  if (std::isfinite(best)) text += fmt::format(", best {} (round {})", percent(best), best_round);
  facts.push_back({"accuracy", text});
}

void add_groups(const RunRecords& run, std::vector<Fact>& facts) {
  const Json& groups = inner(run.summary, "groups");
  if (groups.is_object() && number_of(groups, "size_max", 0) > 1) {
    const double smallest = number_of(groups, "size_min", 0);
    const double largest = number_of(groups, "size_max", 0);
    std::string text =
        fmt::format("{:.0f} of {} clients, {:.0f} clients in none", number_of(groups, "count", 0),
                    smallest == largest ? fmt::format("{:g}", largest) : fmt::format("{:g} to {:g}", smallest, largest),
                    number_of(groups, "idle", 0));
    const double cov = number_of(inner(run.summary, "quality"), "cov_mean", NAN);
    const double cpd = number_of(inner(run.summary, "quality"), "cpd_median", NAN);
    if (std::isfinite(cov)) text += fmt::format(", mean CoV {:.3g}", cov);
    if (std::isfinite(cpd)) text += fmt::format(", median CPD {:.3g}", cpd);
    facts.push_back({"groups", text});
  }
  const Json& clusters = inner(run.summary, "clusters");
  if (clusters.is_object() && clusters.contains("right")) {
    facts.push_back(
        {"planted clusters", fmt::format("{:.0f} of {:.0f} clients in the right group", number_of(clusters, "right", 0),
                                         number_of(clusters, "clients", 0))});
  }
}

std::vector<Fact> facts_of(const RunRecords& run) {
  std::vector<Fact> facts;
  facts.push_back({"method", run.recipe_name.empty() ? "unknown" : run.recipe_name});
  if (!run.task.empty()) facts.push_back({"task", run.task});
  facts.push_back({"seed", fmt::format("{}", run.seed)});
  facts.push_back({"state", state_text(run)});
  if (const std::string data = text_of(run.summary, "data"); !data.empty())
    facts.push_back({"data", shown_name(data, 400)});
  if (const double n = number_of(run.summary, "parameters", 0); n > 0)
    facts.push_back({"parameters", fmt::format("{:.0f}", n)});
  add_accuracy(run, facts);
  add_groups(run, facts);
  if (!run.rounds.empty()) {
    const RecordedRound& end = run.rounds.back();
    facts.push_back({"sent", fmt::format("{} from clients, {} to clients", number_text(end.bytes_up, Unit::kBytes),
                                         number_text(end.bytes_down, Unit::kBytes))});
    facts.push_back({"simulated time", number_text(end.cost_s, Unit::kSeconds)});
  }
  const double wall =
      number_of(inner(run.summary, "time"), "wall_s", run.rounds.empty() ? NAN : run.rounds.back().wall_s);
  if (std::isfinite(wall)) facts.push_back({"time on this machine", number_text(wall, Unit::kSeconds)});
  const std::string signature = shown_name(text_of(run.summary, "signature"), 32);
  if (!signature.empty()) facts.push_back({"signature", signature});
  return facts;
}

void add_section(Report& report, std::string id, std::string title, std::vector<Figure> figures) {
  if (!figures.empty()) report.sections.push_back({std::move(id), std::move(title), std::move(figures)});
}

}  // namespace

ReportedRun reported(const RunRecords& run, const std::string& method) {
  constexpr std::size_t kMostRecipe = 20'000;
  ReportedRun about{.run = run.run, .method = method, .seed = run.seed, .state = std::string(name(run.phase))};
  about.signature = shown_name(text_of(run.summary, "signature"), 32);
  about.command = fmt::format("muster run {}", shown_name(shell_word((run.folder / "recipe.toml").string()), 1000));
  std::size_t at = 0;
  while (at < run.recipe_toml.size() && about.recipe.size() < kMostRecipe) {
    const std::size_t end = std::min(run.recipe_toml.find('\n', at), run.recipe_toml.size());
    about.recipe += shown_name(std::string_view(run.recipe_toml).substr(at, end - at), 2000) + "\n";
    at = end + 1;
  }
  return about;
}

Report report_of(const RunRecords& run, const DescribeOptions& options) {
  Report report{.kind = "run",
                .title = run.run,
                .facts = facts_of(run),
                .sections = {},
                .runs = {reported(run, run.recipe_name)},
                .notes = run.notes};
  add_section(report, "learning", "Learning", learning_figures(run, options.most_points));
  add_section(report, "groups", "Groups", group_figures(run, options.most_points));
  add_section(report, "clients", "Clients", client_figures(run));
  add_section(report, "classes", "Classes", class_figures(run));
  add_section(report, "dropped", "Dropped clients", drop_figures(run));
  add_section(report, "time", "Time and cost", time_figures(run));
  return report;
}

Json to_json(const Report& report) {
  Json json{{"version", 1},           {"kind", report.kind},       {"title", report.title},
            {"facts", Json::array()}, {"sections", Json::array()}, {"runs", Json::array()},
            {"notes", report.notes}};
  for (const Fact& fact : report.facts) json["facts"].push_back({{"name", fact.name}, {"value", fact.value}});
  for (const ReportSection& section : report.sections) {
    Json figures = Json::array();
    for (const Figure& figure : section.figures) figures.push_back(to_json(figure));
    json["sections"].push_back({{"id", section.id}, {"title", section.title}, {"figures", std::move(figures)}});
  }
  for (const ReportedRun& run : report.runs) {
    json["runs"].push_back({{"run", run.run},
                            {"method", run.method},
                            {"seed", run.seed},
                            {"state", run.state},
                            {"signature", run.signature},
                            {"command", run.command},
                            {"recipe", run.recipe}});
  }
  return json;
}

Result<Json> describe_run(const std::filesystem::path& folder, const DescribeOptions& options) {
  MUSTER_ASSIGN(const RunRecords run, read_run_records(folder));
  return to_json(report_of(run, options));
}

}  // namespace muster
