// The roster of a deployed run: who is connected, who has gone and why, who was dropped from rounds. Of a run that this
// process runs it comes from there; of all others it is read from the run's ledger, which knows no times.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace muster {

struct PageRoster {
  struct Row {
    std::uint32_t client = 0;
    std::string name = {};
    bool here = false;
    std::string peer = {};  // the process that it is reached through, or was
    bool by_edge = false;
    std::int64_t since_s = 0;  // since 1970: when it came or went; 0 = not known
    std::string why = {};      // it went
    std::uint32_t drops = 0;
    std::uint32_t last_drop_round = 0;  // 0 = never
    std::string last_drop_reason = {};
  };
  std::uint32_t roster = 0;  // clients that the run has
  std::uint32_t here = 0;
  std::vector<Row> rows;  // by number
};

// None: this process does not run it. Called by the page's threads.
using RosterSource = std::function<std::optional<PageRoster>(const std::string& run)>;

// Reads a ledger and the rounds beside it from where it stopped.
class RosterReader {
 public:
  explicit RosterReader(std::filesystem::path folder) : folder_(std::move(folder)) {}
  // `running`: somebody runs it; else nobody is connected.
  [[nodiscard]] PageRoster read(bool running);

 private:
  void add_event(const nlohmann::json& line);
  void add_round(const nlohmann::json& line);

  const std::filesystem::path folder_;
  std::uint64_t ledger_read_ = 0;
  std::uint64_t rounds_read_ = 0;
  std::uint32_t roster_ = 0;
  std::map<std::uint32_t, PageRoster::Row> rows_;
};

// The first `most` rows: those who are gone first, then the dropped, then the others.
[[nodiscard]] nlohmann::json to_json(const PageRoster& roster, std::size_t most);

}  // namespace muster
