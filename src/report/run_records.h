// RunRecords: what a run's folder tells, read back for people to look at, at full length. The folder may be of a run
// that goes on, was interrupted or killed, or hold anything at all: what cannot be read is left out and noted, and
// nothing is ever written. What becomes of it is decided elsewhere (describe.h).
#pragma once

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/result.h"

namespace muster {

inline constexpr std::uint32_t kNoGroupNumber = 0xffffffffu;

// A line of rounds.jsonl; NaN = not told.
struct RecordedRound {
  std::uint32_t round = 0;
  double accuracy = NAN;
  bool of_all = true;  // of all test samples, not only of some clients'
  double loss = NAN;
  double train_loss = NAN;
  double client_accuracy = NAN;
  double client_worst = NAN;
  double client_p10 = NAN;
  double client_p50 = NAN;
  double client_p90 = NAN;
  double validation_accuracy = NAN;
  double validation_loss = NAN;
  double discrepancy = NAN;
  double participants = 0;
  double dropped = 0;
  double groups = NAN;
  double idle = NAN;
  double models = NAN;
  // Since the run began.
  double bytes_up = 0;
  double bytes_down = 0;
  double compute_s = 0;  // simulated
  double cost_s = 0;     // simulated, computing and sending
  double wall_s = 0;
  std::vector<double> group_accuracy = {};    // empty where there is one model, or very many
  std::vector<std::uint32_t> by_reason = {};  // clients dropped, as RunRecords::reasons numbers them
};

// A line of groups.jsonl that says how all groups are now.
struct RecordedGrouping {
  std::uint32_t round = 0;
  std::string method;
  std::string why;
  std::uint32_t count = 0;
  std::uint32_t idle = 0;
  std::vector<std::uint32_t> sizes = {};  // empty where members are not told
  std::map<std::string, double> quality = {};
  // Against the grouping before: clients that were in groups both times, those of them that changed theirs (see
  // group_moves.h), and those that were in one only now, or only before.
  std::uint32_t stayed = 0;
  std::uint32_t moved = 0;
  std::uint32_t joined = 0;
  std::uint32_t left = 0;
};

// All of it, for those few that are drawn one by one.
struct DetailedGrouping {
  RecordedGrouping about;
  std::vector<std::vector<std::uint32_t>> members = {};
  std::vector<std::vector<double>> labels = {};  // samples by group and class; empty = not told
  std::vector<std::string> notes = {};
  struct Flow {
    std::uint32_t from, to, clients;
  };
  std::uint32_t before = 0;        // the round of the grouping that clients came from; 0 = none
  std::uint32_t count_before = 0;  // its groups
  std::vector<Flow> flows = {};
  struct Mover {
    std::uint32_t client, from, goes_on_as, to;  // kNoGroupNumber = its group does not go on
  };
  std::vector<Mover> movers = {};  // the first of them
};

struct RecordedDistances {
  std::uint32_t round = 0;
  std::string metric;
  std::vector<std::uint32_t> clients;
  std::vector<std::vector<double>> rows;
  std::vector<std::uint32_t> group_of;  // of each client then; kNoGroupNumber = none
};

struct RecordedClient {
  std::uint32_t client = 0;
  std::uint32_t group = kNoGroupNumber;
  double samples = 0;
  double trained = 0;
  double dropped = 0;
  double accuracy = NAN;
};

// Lines of ledger.jsonl by what they tell.
struct RecordedLedger {
  std::uint32_t starts = 0;
  std::map<std::string, std::uint64_t> asks;     // by kind
  std::map<std::string, std::uint64_t> unused;   // answers that were not used, by reason
  std::map<std::string, std::uint64_t> missed;   // by reason
  std::map<std::string, std::uint64_t> refused;  // by reason
  std::uint64_t used = 0;
  std::uint64_t came = 0;  // clients, each time
  std::uint64_t went = 0;
  std::uint64_t lines = 0;
};

enum class RunPhase { kRunning, kDone, kInterrupted, kUnfinished };
[[nodiscard]] std::string_view name(RunPhase phase);

struct RunRecords {
  std::string run;  // the folder's name
  std::filesystem::path folder;
  RunPhase phase = RunPhase::kUnfinished;
  std::string recipe_toml;
  std::string recipe_name;
  std::string task;
  std::uint64_t seed = 0;
  std::uint32_t rounds_wanted = 0;
  double target_accuracy = NAN;
  nlohmann::json summary;             // of summary.json; null if there is none
  std::vector<RecordedRound> rounds;  // ascending
  std::vector<std::string> reasons;   // why clients were dropped; at most 16, the last of which may be "other"
  std::map<std::uint32_t, std::uint32_t> drops_of_client;
  std::vector<RecordedGrouping> groupings;
  std::vector<DetailedGrouping> detailed;    // some of them, the first and the last included
  std::vector<RecordedDistances> distances;  // the first and the last
  std::vector<RecordedClient> clients;
  std::map<std::uint32_t, std::string> client_names;
  std::vector<std::string> class_names;
  RecordedLedger ledger;
  std::vector<std::string> notes;  // what could not be read

  // Its name, or "client 12".
  [[nodiscard]] std::string client_text(std::uint32_t client) const;
};

// Fails only if `folder` is no run's folder: it has neither recipe.toml nor rounds.jsonl.
[[nodiscard]] Result<RunRecords> read_run_records(const std::filesystem::path& folder);

// A text of a file as it is shown: at most `most` characters, nothing in it that moves a cursor or breaks a line.
[[nodiscard]] std::string shown_name(std::string_view text, std::size_t most = 120);

}  // namespace muster
