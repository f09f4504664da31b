// What a run leaves behind, to compare runs by.
#pragma once

#include <map>

#include "small_run.h"

namespace muster {

// Everything a run leaves behind, without what depends on the clock or on the name of its folder.
struct Records {
  std::vector<nlohmann::json> rounds;
  std::vector<nlohmann::json> groups;
  std::string clients;
  nlohmann::json summary;
  std::map<std::string, std::string> weights;

  bool operator==(const Records&) const = default;
};

inline Records records_of(const RunSummary& run) {
  Records records;
  records.rounds = json_lines(run.dir / "rounds.jsonl");
  for (nlohmann::json& round : records.rounds) round.erase("wall_s");
  records.groups = json_lines(run.dir / "groups.jsonl");
  records.clients = slurp(run.dir / "clients.csv");
  records.summary = nlohmann::json::parse(slurp(run.dir / "summary.json"));
  for (const char* field : {"run", "dir", "time", "peak_rss_bytes"}) records.summary.erase(field);
  records.summary["cost"].erase("group_s");
  for (const auto& entry : std::filesystem::directory_iterator(run.dir)) {
    if (entry.path().extension() == ".safetensors") records.weights[entry.path().filename()] = slurp(entry.path());
  }
  return records;
}

}  // namespace muster
