#include "deploy/doorkeeper.h"

#include <algorithm>

namespace muster {

Doorkeeper::Pass::~Pass() {
  door_->leave(serial_);
}

Result<std::shared_ptr<Doorkeeper::Pass>> Doorkeeper::enter(const Identity& who, Time now) {
  std::uint64_t clients = who.clients.empty() ? 1 : 0;
  for (const ClientRange& range : who.clients) clients += std::uint64_t{range.last} - range.first + 1;
  const std::uint64_t most = std::min(kMostStreams, clients + kMoreStreams);
  const double dials_at_once = kDialsAtOnce * static_cast<double>(most);
  const double dials_per_second = kDialsPerSecond * static_cast<double>(most);
  {
    const std::lock_guard lock(mutex_);
    Visitor& visitor = visitors_.try_emplace(who.serial, Visitor{.dials = dials_at_once, .seen = now}).first->second;
    const double passed_s = std::max(0.0, std::chrono::duration<double>(now - visitor.seen).count());
    visitor.seen = now;
    visitor.dials = std::min(dials_at_once, visitor.dials + dials_per_second * passed_s);
    if (visitor.open >= most) {
      return failure("{} has {} connections already, want at most {}", who.shown(), visitor.open, most);
    }
    if (visitor.dials < 1) {
      return failure("{} dials too often, want at most {:.0f} times a second", who.shown(), dials_per_second);
    }
    visitor.dials -= 1;
    ++visitor.open;
  }
  return std::make_shared<Pass>(shared_from_this(), who.serial);
}

void Doorkeeper::leave(const std::string& serial) {
  const std::lock_guard lock(mutex_);
  --visitors_.at(serial).open;
}

}  // namespace muster
