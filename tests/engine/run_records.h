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

inline void expect_equal(const Records& a, const Records& b, const std::string& what) {
  EXPECT_EQ(a.rounds.size(), b.rounds.size()) << what;
  for (std::size_t i = 0; i < std::min(a.rounds.size(), b.rounds.size()); ++i) {
    EXPECT_EQ(a.rounds[i], b.rounds[i]) << what;
  }
  EXPECT_EQ(a.groups.size(), b.groups.size()) << what;
  for (std::size_t i = 0; i < std::min(a.groups.size(), b.groups.size()); ++i) {
    EXPECT_EQ(a.groups[i], b.groups[i]) << what;
  }
  EXPECT_EQ(a.clients, b.clients) << what;
  EXPECT_EQ(a.summary, b.summary) << what;
  EXPECT_TRUE(a.weights == b.weights) << what << ": weights differ";
}

}  // namespace muster
