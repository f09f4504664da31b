// Checks the ledger of a deployed run (ledger.jsonl, docs/files.md) after the fact. Shares no code with Muster: it
// knows the file's page and nothing else. What it finds:
//   - every client counted at most once in a round, in one group, with the answer that was used
//   - no answer used that was not asked for, was answered before, was given up, or is of another incarnation
//   - no answer that was acknowledged missing from its round; no checkpoint that a later start does not know
//   - rounds without gaps, each from the model of the one before
//   - with the vectors (muster cloud --ledger-vectors): groups' models and the merged model recomputed, bit for bit, as
//     sums in double in the order of the lines, for training = "parallel" of one group round and global =
//     "samples-weighted" or "uniform". Where an edge hosted a group its members' updates never reach the cloud: what
//     the edge sent is taken as it is.
//   - rounds.jsonl and summary.json that say otherwise
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace ledger_check {

struct LedgerQuestion {
  std::filesystem::path run;      // the run's folder
  std::filesystem::path vectors;  // empty: nothing is recomputed
  bool lossless = false;          // nobody may be missing from any round that counts
};

struct LedgerFindings {
  std::vector<std::string> faults;  // none: it is accepted
  std::uint64_t incarnations = 0;
  std::uint64_t rounds = 0;   // that count
  std::uint64_t answers = 0;  // that were used, also in rounds that do not count
  std::uint64_t missed = 0;
  std::uint64_t refused = 0;
  std::uint64_t groups_recomputed = 0;
  std::uint64_t rounds_recomputed = 0;
  bool ended = false;
};

[[nodiscard]] LedgerFindings check_ledger(const LedgerQuestion& question);

}  // namespace ledger_check
