#include "ranks/patience.h"

#include <algorithm>
#include <thread>

namespace muster {

std::chrono::microseconds Patience::next(Ranks& ranks) {
  if (ranks.sending()) return std::chrono::microseconds(0);
  const std::chrono::microseconds nap = nap_;
  nap_ = std::min(kLongest, nap_ + std::max(nap_ / 4, std::chrono::microseconds(1)));
  return nap;
}

void Patience::sleep(Ranks& ranks) {
  const std::chrono::microseconds nap = next(ranks);
  if (nap.count() == 0) {
    std::this_thread::yield();
  } else {
    std::this_thread::sleep_for(nap);
  }
}

Result<Ranks::Arrived> wait_for_parcel(Ranks& ranks) {
  Patience patience;
  while (true) {
    if (std::optional<Ranks::Arrived> arrived = ranks.receive()) return std::move(*arrived);
    if (const auto gone = ranks.lost()) return lost_rank(ranks, *gone);
    patience.sleep(ranks);
  }
}

Error lost_rank(const Ranks& ranks, std::uint32_t rank) {
  return failure("{} has died, and the job with it; --resume continues from the last checkpoint", ranks.name(rank));
}

}  // namespace muster
