#include "engine/comparison_json.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "record/json_text.h"

namespace muster {
namespace {

using Json = nlohmann::ordered_json;

// {"local.learning-rate": 0.05}: numbers as numbers, all else as text.
Json settings_of(const std::vector<std::string>& settings) {
  Json object = Json::object();
  for (const std::string& setting : settings) {
    const auto equals = setting.find('=');
    const std::string value = setting.substr(equals + 1);
    const auto parsed = parse_json(value);
    object[setting.substr(0, equals)] =
        parsed && (parsed->is_number() || parsed->is_boolean()) ? Json::parse(value) : Json(value);
  }
  return object;
}

Json target_of(const TargetFigures& t) {
  return {{"accuracy", t.accuracy},
          {"rounds_mean", json_number(t.rounds.mean)},
          {"rounds_std", json_number(t.rounds.deviation)},
          {"bytes_mean", json_number(t.bytes.mean)},
          {"bytes_std", json_number(t.bytes.deviation)},
          {"cost_s_mean", json_number(t.cost_s.mean)},
          {"cost_s_std", json_number(t.cost_s.deviation)},
          {"reached", t.reached}};
}

Json method_of(const MethodFigures& m) {
  Json seeds = Json::array();
  for (const auto& last : m.last_of_seed) seeds.push_back(json_number(last));
  Json targets = Json::array();
  for (const TargetFigures& target : m.to_target) targets.push_back(target_of(target));
  Json grid = Json::array();
  for (const GridFigures& point : m.grid) {
    grid.push_back({{"settings", settings_of(point.settings)},
                    {"validation_mean", json_number(point.validation)},
                    {"last_mean", json_number(point.last.mean)},
                    {"runs", point.runs}});
  }
  return {{"method", m.label},
          {"settings", settings_of(m.settings)},
          {"runs", m.runs},
          {"signatures", m.signatures},
          {"accuracy",
           {{"last_mean", json_number(m.last.mean)},
            {"last_std", json_number(m.last.deviation)},
            {"best_mean", json_number(m.best.mean)},
            {"best_std", json_number(m.best.deviation)},
            {"tail_mean", json_number(m.tail.mean)},
            {"tail_std", json_number(m.tail.deviation)},
            {"last", std::move(seeds)}}},
          {"to_target", std::move(targets)},
          {"wall_s_mean", json_number(m.wall_s.mean)},
          {"wall_s_std", json_number(m.wall_s.deviation)},
          {"diverged", m.diverged},
          {"grid", std::move(grid)}};
}

}  // namespace

std::string to_json(const ComparisonTable& table) {
  Json methods = Json::array();
  for (const MethodFigures& method : table.methods) methods.push_back(method_of(method));
  Json differences = Json::array();
  for (const MethodDifference& d : table.differences) {
    differences.push_back({{"a", d.a},
                           {"b", d.b},
                           {"mean", json_number(d.of_last.mean)},
                           {"better_in", d.of_last.better},
                           {"worse_in", d.of_last.worse},
                           {"of", d.of_last.pairs},
                           {"p", json_number(d.of_last.p)}});
  }
  return json_text(Json{{"task", table.task},
                        {"command", table.command},
                        {"seeds", table.seeds},
                        {"methods", std::move(methods)},
                        {"differences", std::move(differences)},
                        {"tail_evaluations", table.tail},
                        {"notes", table.notes}});
}

}  // namespace muster
