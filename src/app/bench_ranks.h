// `bench ranks`: what a run on two ranks of one thread each takes, against one process with two threads, on this
// machine, and what travels between the ranks. Every pair of runs must have one signature before its times count.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"

namespace muster {

struct RanksCase {
  std::string name;
  double seconds = 0;  // of training and evaluation on two ranks, the middle of a few
  double ratio = 0;  // speed on ranks / speed of one process, the middle of as many pairs that ran one after the other
  double at_most = 0;  // seconds that would give the ratio that is wanted
  std::uint64_t bytes = 0;
  std::uint64_t bytes_at_most = 0;   // 0: no bound
  double ordered_share = 0;          // of rank 0's time, in sums that are made in order
  double extra_rank_mb = 0;          // memory of the second rank that no other process sees; the data are shared
  double extra_rank_at_most_mb = 0;  // what its thread trains in, and 100
  std::string checked;               // what was checked

  [[nodiscard]] bool ok() const {
    return seconds <= at_most && (bytes_at_most == 0 || bytes <= bytes_at_most) &&
           extra_rank_mb <= extra_rank_at_most_mb;
  }
};

struct RanksBenchOptions {
  std::string program;  // that was built with MPI
  std::string only;     // cases whose name has this in it; "" = all
  std::uint32_t repeats = 5;
  double scale = 1;  // of the work; tests take less
  std::function<void(const std::string&)> say;
};

// Fails if a run does, or if two runs of a pair differ.
[[nodiscard]] Result<std::vector<RanksCase>> run_ranks_bench(const RanksBenchOptions& options);

}  // namespace muster
