#include "web/wrong_tokens.h"

#include <arpa/inet.h>

#include <algorithm>
#include <cmath>

namespace muster {

std::string network_of(const std::string& address) {
  in6_addr v6{};
  if (::inet_pton(AF_INET6, address.c_str(), &v6) != 1 || IN6_IS_ADDR_V4MAPPED(&v6)) return address;
  std::fill(v6.s6_addr + 8, v6.s6_addr + 16, 0);
  char text[INET6_ADDRSTRLEN] = {};
  ::inet_ntop(AF_INET6, &v6, text, sizeof text);
  return text;
}

std::uint32_t WrongTokens::wait_s(const std::string& peer, double now_s) const {
  double until = now_s;
  if (recent_.size() >= kMostPerMinute) until = std::max(until, recent_.front() + 60);
  if (const auto found = peers_.find(network_of(peer)); found != peers_.end()) {
    until = std::max(until, found->second.until_s);
  }
  return static_cast<std::uint32_t>(std::ceil(until - now_s));
}

void WrongTokens::add_wrong(const std::string& peer, double now_s) {
  recent_.push_back(now_s);
  if (recent_.size() > kMostPerMinute) recent_.pop_front();
  const std::string network = network_of(peer);
  std::erase_if(peers_, [&](const auto& known) { return known.second.last_s + kForgottenS < now_s; });
  if (peers_.size() >= kMostPeers && !peers_.contains(network)) {
    const auto older = [](const auto& a, const auto& b) { return a.second.last_s < b.second.last_s; };
    peers_.erase(std::min_element(peers_.begin(), peers_.end(), older));
  }
  Peer& known = peers_[network];
  ++known.wrong;
  known.last_s = now_s;
  if (known.wrong < kFree) return;
  known.until_s =
      now_s + std::min(kLongestWaitS, std::ldexp(1.0, static_cast<int>(std::min(known.wrong - kFree, 20u))));
}

void WrongTokens::add_right(const std::string& peer) {
  peers_.erase(network_of(peer));
}

}  // namespace muster
