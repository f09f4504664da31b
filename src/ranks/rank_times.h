// What the ranks of a job cost, as rank 0 sees it.
#pragma once

#include <cstdint>
#include <vector>

namespace muster {

struct RankTimes {
  double calls_s = 0;       // training, profiles and evaluations, in seconds of rank 0's own thread, of which
  double accept_s = 0;      // accepting answers: the sums that are made in order
  std::uint64_t bytes = 0;  // that travelled from and to rank 0
  std::vector<std::uint64_t> peak_rss_bytes;  // of every other rank, once the run is over
};

}  // namespace muster
