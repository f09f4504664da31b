// Patience: how long to sleep before looking again whether a parcel has come. Cores are shared with those that train,
// so nobody spins: short naps while something is going on, longer ones the longer nothing does.
#pragma once

#include <chrono>

#include "ranks/ranks.h"

namespace muster {

class Patience {
 public:
  // Something came or went.
  void moved() { nap_ = kShortest; }
  // For how long to sleep now. Zero while something is on its way and needs help.
  [[nodiscard]] std::chrono::microseconds next(Ranks& ranks);
  // Sleeps for as long.
  void sleep(Ranks& ranks);

 private:
  static constexpr std::chrono::microseconds kShortest{20};
  static constexpr std::chrono::microseconds kLongest{1000};
  std::chrono::microseconds nap_ = kShortest;
};

// The next parcel, however long it takes. Fails if a rank has died.
[[nodiscard]] Result<Ranks::Arrived> wait_for_parcel(Ranks& ranks);
// What is said of a rank that has died.
[[nodiscard]] Error lost_rank(const Ranks& ranks, std::uint32_t rank);

}  // namespace muster
