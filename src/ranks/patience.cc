#include "ranks/patience.h"

#include <sys/prctl.h>

#include <algorithm>
#include <array>
#include <thread>

namespace muster {
namespace {

using std::chrono::microseconds;

struct Naps {
  microseconds shortest;
  microseconds longest;
};

// Of each Crew.
constexpr std::array<Naps, 3> kNaps{{
    {microseconds(5), microseconds(250)},
    {microseconds(30), microseconds(250)},
    {microseconds(400), microseconds(2000)},
}};
// While something is on its way and may need help.
constexpr microseconds kLongestSending{50};

}  // namespace

Patience::Patience() {
  (void)::prctl(PR_SET_TIMERSLACK, 1000UL, 0UL, 0UL, 0UL);
}

microseconds Patience::next(Ranks& ranks, Crew crew) {
  const Naps& naps = kNaps.at(static_cast<std::size_t>(crew));
  const microseconds nap = std::max(nap_, naps.shortest);
  nap_ = std::min(naps.longest, nap + std::max(nap / 4, microseconds(1)));
  return ranks.sending() ? std::min(nap, kLongestSending) : nap;
}

Result<Ranks::Arrived> wait_for_parcel(Ranks& ranks) {
  Patience patience;
  while (true) {
    if (std::optional<Ranks::Arrived> arrived = ranks.receive()) return std::move(*arrived);
    if (const auto gone = ranks.lost()) return lost_rank(ranks, *gone);
    std::this_thread::sleep_for(patience.next(ranks, Patience::Crew::kIdle));
  }
}

Error lost_rank(const Ranks& ranks, std::uint32_t rank) {
  return failure("{} has died, and the job with it; --resume continues from the last checkpoint", ranks.name(rank));
}

}  // namespace muster
