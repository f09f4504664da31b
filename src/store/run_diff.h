// What differs between two runs of a store: in their recipes, in their data and in what came of them.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "store/store.h"

namespace muster {

// A key of the recipe, or a field of the summary ("accuracy.last"). JSON null where a run does not have it.
struct ValueDifference {
  std::string key;
  nlohmann::ordered_json a;
  nlohmann::ordered_json b;
};

struct RunDiff {
  std::vector<ValueDifference> recipe;  // all keys but those of the data
  std::vector<ValueDifference> data;    // [data], the seed of the data, and what was made of them
  std::vector<ValueDifference> result;  // without times, memory and paths
  // The first whose records differ, times aside; none if all rounds that both have are the same.
  std::optional<std::uint32_t> first_round;
};

[[nodiscard]] Result<RunDiff> diff_runs(const Store& store, const StoredRun& a, const StoredRun& b);

}  // namespace muster
