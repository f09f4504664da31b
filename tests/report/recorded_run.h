// RecordedRun: a run's folder as `muster run` leaves it, written by heart.
#pragma once

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "scratch_folder.h"

namespace muster {

struct RecordedRun {
  ScratchFolder scratch;
  std::filesystem::path folder = scratch / "mine-s1-20260101-120000";

  RecordedRun() { std::filesystem::create_directories(folder); }

  void write(const std::string& name, const std::string& content) const {
    std::ofstream(folder / name, std::ios::binary) << content;
  }
  void append(const std::string& name, const std::string& content) const {
    std::ofstream(folder / name, std::ios::binary | std::ios::app) << content;
  }
  void add(const std::string& name, const nlohmann::json& line) const { append(name, line.dump() + "\n"); }

  // Accuracies 0.5, 0.6, 0.7, 0.8 in rounds 1 to 4, each of 100 bytes up, 200 down and 2 simulated seconds.
  void write_small() const {
    write("recipe.toml",
          "name = \"mine\"\nrounds = 4\nseed = 7\n[data]\nsource = \"synthetic\"\n[local]\nepochs = 2\n");
    for (int round = 1; round <= 4; ++round) {
      nlohmann::json line{{"round", round},      {"accuracy", 0.4 + 0.1 * round},
                          {"loss", 2.0 / round}, {"train_loss", 3.0 / round},
                          {"participants", 3},   {"bytes_up", 100},
                          {"bytes_down", 200},   {"compute_s", 0.5},
                          {"cost_s", 2.0},       {"cost_total_s", 2.0 * round},
                          {"wall_s", 0.1},       {"dropped", nlohmann::json::array()}};
      if (round == 3)
        line["dropped"] = {{{"client", 1}, {"reason", "straggler"}}, {{"client", 2}, {"reason", "dropped"}}};
      add("rounds.jsonl", line);
    }
    add("groups.jsonl", {{"round", 1},
                         {"method", "random"},
                         {"why", "start"},
                         {"count", 2},
                         {"idle", nlohmann::json::array()},
                         {"members", {{0, 1}, {2, 3}}},
                         {"labels", {{10, 0}, {5, 5}}},
                         {"quality", {{"cov_mean", 0.5}, {"cpd_median", 0.25}}}});
    add("groups.jsonl",
        {{"round", 3},
         {"method", "random"},
         {"why", "regroup"},
         {"count", 2},
         {"idle", nlohmann::json::array()},
         {"members", {{0, 2, 3}, {1, 4}}},
         {"labels", {{9, 1}, {6, 4}}},
         {"quality", {{"cov_mean", 0.4}, {"cpd_median", 0.2}}},
         {"distances",
          {{"metric", "cosine"}, {"clients", {0, 1, 2}}, {"rows", {{0, 0.5, 0.1}, {0.5, 0, 0.4}, {0.1, 0.4, 0}}}}}});
    write("clients.csv",
          "client,name,samples,group,trained,dropped,accuracy,test_samples\n0,Graz,10,0,4,0,0.9,3\n1,,20,1,3,1,0.25,"
          "4\n2,\"Köln, west\",30,0,3,1,0.5,5\n3,,5,0,4,0,,0\n");
    write(
        "summary.json",
        R"({"run":"mine-s1","stopped":"rounds","signature":"0123456789abcdef","seed":7,"accuracy":{"last":0.8,"best":0.8,"best_round":4},
      "time":{"wall_s":1.0,"setup_s":0.1,"train_s":0.6,"eval_s":0.1,"profile_s":0,"group_s":0.05},"cost":{"compute_s":2,"comm_s":6,"bytes_up":400,"bytes_down":800},
      "groups":{"count":2,"idle":0,"size_min":2,"size_max":3,"size_mean":2.5},"quality":{"cov_mean":0.4,"cpd_median":0.2},
      "metrics":{"classes":[{"name":"cat","precision":0.5,"recall":0.75,"f1":0.6,"samples":4},{"name":"dog","precision":null,"recall":0,"f1":0,"samples":4}],"confusion":[[3,1],[4,0]]}})");
  }
};

// The figure of that id, or null.
inline nlohmann::json figure_in(const nlohmann::json& description, const std::string& id) {
  for (const auto& section : description.at("sections")) {
    for (const auto& figure : section.at("figures")) {
      if (figure.at("id") == id) return figure;
    }
  }
  return {};
}

}  // namespace muster
