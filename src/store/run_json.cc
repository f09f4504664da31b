#include "store/run_json.h"

#include <ctime>

namespace muster {
namespace {

using Json = nlohmann::ordered_json;

template <typename T>
Json known(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json so_far(const StoredRun& run) {
  return {{"run", run.id},
          {"recipe", run.recipe},
          {"seed", run.seed},
          {"rounds", run.rounds},
          {"stopped", nullptr},
          {"signature", nullptr},
          {"accuracy",
           {{"last", known(run.accuracy_last)}, {"best", known(run.accuracy_best)}, {"best_round", run.best_round}}},
          {"loss", {{"last", known(run.loss_last)}}},
          {"clients", known(run.clients)},
          {"groups", {{"count", known(run.groups)}}},
          {"time", {{"wall_s", run.wall_s}}},
          {"dir", run.dir.string()}};
}

}  // namespace

Json run_json(const StoredRun& run) {
  Json json = run.summary.empty() ? Json() : Json::parse(run.summary, nullptr, false);
  if (!json.is_object()) json = so_far(run);
  // The folder may have been moved, or the summary written where it had another path.
  json["run"] = run.id;
  json["dir"] = run.dir.string();
  json["condition"] = name(run.condition);
  json["rounds_planned"] = run.rounds_planned;
  json["begun"] = utc_text(run.begun_s);
  json["tags"] = run.tags;
  json["deployed"] = run.deployed;
  json["fault"] = run.fault.empty() ? Json(nullptr) : Json(run.fault);
  return json;
}

std::string utc_text(std::int64_t seconds) {
  const auto time = static_cast<std::time_t>(seconds);
  std::tm utc{};
  if (!gmtime_r(&time, &utc)) return "?";
  char text[32];
  return {text, std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &utc)};
}

}  // namespace muster
