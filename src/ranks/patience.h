// Patience: how long to sleep before looking again whether a parcel has come. Cores are shared with those that train,
// and every look takes some of their time: so nobody spins, and whoever has enough to do looks seldom.
#pragma once

#include <chrono>

#include "ranks/ranks.h"

namespace muster {

class Patience {
 public:
  // What the threads of this process do meanwhile.
  enum class Crew : std::uint8_t {
    kIdle,  // nothing: the core is free for looking
    kBusy,  // they train, and have nothing to go on with
    kFed,   // they train, and have
  };

  // Naps of this thread are as short as they should be from now on: the kernel adds 50 us otherwise.
  Patience();

  // Something came or went.
  void moved() { nap_ = {}; }
  // For how long to sleep now: longer the longer nothing happens.
  [[nodiscard]] std::chrono::microseconds next(Ranks& ranks, Crew crew);

 private:
  std::chrono::microseconds nap_{};
};

// The next parcel, however long it takes. Fails if a rank has died.
[[nodiscard]] Result<Ranks::Arrived> wait_for_parcel(Ranks& ranks);
// What is said of a rank that has died.
[[nodiscard]] Error lost_rank(const Ranks& ranks, std::uint32_t rank);

}  // namespace muster
