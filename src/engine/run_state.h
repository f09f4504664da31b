// RunState: what a run knows beside models, groups and clients' memory — where it is, what it has summed up, who took
// part. What a checkpoint must carry for a resumed run to end like an uninterrupted one.
#pragma once

#include <cstdint>
#include <vector>

#include "record/checkpoint.h"
#include "record/run_record.h"

namespace muster {

struct RunState {
  std::uint32_t round = 0;  // the last finished one
  std::uint64_t chain = 0;  // hash of all records so far
  std::uint32_t broken_rounds = 0;
  bool all_placed = true;  // at the last evaluation, every client that is there had a model
  RunSummary totals;
  std::vector<ClientTally> tallies;  // of each client

  // `wall_s`: of the run so far, this process's part included.
  void save(Checkpoint& checkpoint, double wall_s) const;
  // Precondition: tallies has an entry per client. On failure the state is partly overwritten: of no use any more.
  [[nodiscard]] Status restore(const Checkpoint& checkpoint);
};

}  // namespace muster
