// A federation that is small enough to run many times in a test, and the fixture that runs it.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "engine/simulation.h"
#include "scratch_folder.h"

namespace muster {

using Settings = std::vector<std::string>;

inline Recipe recipe_of(std::initializer_list<Settings> lists) {
  Recipe recipe;
  recipe.name = "small";
  for (const Settings& list : lists) {
    for (const std::string& setting : list) {
      const Status status = apply_setting(recipe, setting);
      EXPECT_TRUE(status.ok()) << status.error().message;
    }
  }
  return recipe;
}

inline const Settings kSmallRun{
    "data.clients=12",     "data.samples-min=60",     "data.samples-max=120",  "model.name=mlp", "model.hidden=[16]",
    "local.batch-size=16", "local.learning-rate=0.1", "plan.sample-clients=5", "rounds=6",       "checkpoint-every=2"};

// A federation of a dozen clients on generated data: quick to make, and different for every client.
inline Recipe small(const Settings& settings = {}) {
  return recipe_of({kSmallRun, {"data.source=synthetic", "data.test-fraction=0.1"}, settings});
}

// The same on generated images, which a good model classifies well.
inline Recipe images(const Settings& settings = {}) {
  return recipe_of({kSmallRun, {"data.source=blobs", "data.partition=dirichlet", "data.alpha=0.3"}, settings});
}

inline std::vector<nlohmann::json> json_lines(const std::filesystem::path& file) {
  std::vector<nlohmann::json> result;
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) result.push_back(nlohmann::json::parse(line));
  return result;
}

class SimulationTest : public testing::Test {
 protected:
  RunSummary run(const Recipe& recipe, std::uint32_t threads = 1) {
    const auto summary = simulate(recipe, options(threads));
    EXPECT_TRUE(summary.ok()) << summary.error().message;
    return summary.ok() ? *summary : RunSummary{};
  }
  SimulationOptions options(std::uint32_t threads = 1) {
    SimulationOptions o;
    o.threads = threads;
    o.out = folder_.path() / "runs";
    o.quiet = true;
    return o;
  }
  static std::vector<nlohmann::json> lines(const std::filesystem::path& file) { return json_lines(file); }
  ScratchFolder folder_;
};

}  // namespace muster
