#include "store/run_diff.h"

#include <algorithm>
#include <set>

#include "store/run_json.h"

namespace muster {
namespace {

using Json = nlohmann::ordered_json;
using Fields = std::map<std::string, Json>;

bool is_of_data(const std::string& key) {
  return key.starts_with("data.") || key == "data" || key == "data-seed" || key == "clients" || key == "parameters";
}

// Of runs that are equal these differ, or they are told elsewhere.
bool is_told(const std::string& field) {
  static const std::set<std::string> others{"run",  "recipe",    "seed",     "dir",   "peak_rss_bytes", "begun",
                                            "tags", "condition", "deployed", "fault", "rounds_planned", "cost.group_s"};
  return !others.contains(field) && !field.starts_with("time.") && !field.starts_with("ranks.");
}

// "accuracy": {"last": 1} -> accuracy.last: 1. Lists stay whole.
void flatten(const Json& value, const std::string& path, Fields& fields) {
  if (!value.is_object()) {
    if (is_told(path)) fields[path] = value;
    return;
  }
  for (const auto& [key, below] : value.items()) flatten(below, path.empty() ? key : path + "." + key, fields);
}

std::vector<ValueDifference> differences(const Fields& a, const Fields& b) {
  std::set<std::string> keys;
  for (const Fields* fields : {&a, &b}) {
    for (const auto& [key, value] : *fields) keys.insert(key);
  }
  const auto value_of = [](const Fields& fields, const std::string& key) {
    const auto found = fields.find(key);
    return found == fields.end() ? Json(nullptr) : found->second;
  };
  std::vector<ValueDifference> found;
  for (const std::string& key : keys) {
    Json ours = value_of(a, key);
    Json theirs = value_of(b, key);
    if (ours != theirs) found.push_back({key, std::move(ours), std::move(theirs)});
  }
  return found;
}

Result<Fields> recipe_fields(const Store& store, const StoredRun& run) {
  MUSTER_ASSIGN(const auto keys, store.recipe(run.id));
  return Fields(keys.begin(), keys.end());
}

Fields result_fields(const StoredRun& run) {
  Fields fields;
  flatten(run_json(run), "", fields);
  return fields;
}

bool same_records(const StoredRound& a, const StoredRound& b) {
  return a.round == b.round && a.accuracy == b.accuracy && a.loss == b.loss && a.train_loss == b.train_loss &&
         a.client_accuracy == b.client_accuracy && a.validation_accuracy == b.validation_accuracy &&
         a.participants == b.participants && a.dropped == b.dropped && a.groups == b.groups && a.idle == b.idle &&
         a.models == b.models && a.bytes_up == b.bytes_up && a.bytes_down == b.bytes_down && a.cost_s == b.cost_s;
}

}  // namespace

Result<RunDiff> diff_runs(const Store& store, const StoredRun& a, const StoredRun& b) {
  MUSTER_ASSIGN(const Fields recipe_a, recipe_fields(store, a));
  MUSTER_ASSIGN(const Fields recipe_b, recipe_fields(store, b));
  RunDiff diff;
  for (ValueDifference& one : differences(recipe_a, recipe_b)) {
    (is_of_data(one.key) ? diff.data : diff.recipe).push_back(std::move(one));
  }
  for (ValueDifference& one : differences(result_fields(a), result_fields(b))) {
    (is_of_data(one.key) ? diff.data : diff.result).push_back(std::move(one));
  }
  MUSTER_ASSIGN(const std::vector<StoredRound> rounds_a, store.rounds(a.id));
  MUSTER_ASSIGN(const std::vector<StoredRound> rounds_b, store.rounds(b.id));
  const auto [at, ignored] = std::ranges::mismatch(rounds_a, rounds_b, same_records);
  if (at != rounds_a.end() && ignored != rounds_b.end()) diff.first_round = at->round;
  return diff;
}

}  // namespace muster
