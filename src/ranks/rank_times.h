// What the ranks of a job cost, as rank 0 sees it.
#pragma once

#include <cstdint>
#include <vector>

namespace muster {

// Of a rank other than 0, while it still had everything that a run needs.
struct RankMemory {
  std::uint64_t own_bytes = 0;    // that no other process sees: not the data that the ranks of a machine share
  std::uint64_t arena_bytes = 0;  // of these, what its threads train in
};

struct RankTimes {
  double calls_s = 0;              // training, profiles and evaluations, in seconds of rank 0's own thread, of which
  double accept_s = 0;             // accepting answers: the sums that are made in order
  std::uint64_t bytes = 0;         // that travelled from and to rank 0
  std::vector<RankMemory> others;  // the memory of every other rank, in any order, once the run is over
};

}  // namespace muster
