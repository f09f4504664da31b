// WrongTokens: how long a peer that gave wrong tokens has to wait before the next one is looked at. Holds so many peers
// and no more, and all of them together may only try so often: whoever has many addresses gains nothing by them.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>

namespace muster {

class WrongTokens {
 public:
  static constexpr std::uint32_t kFree = 5;          // wrong ones in a row that cost nothing
  static constexpr double kLongestWaitS = 300;       // after that it doubles, up to this
  static constexpr double kForgottenS = 900;         // after so long without a wrong one
  static constexpr std::size_t kMostPeers = 1024;    // that are remembered
  static constexpr std::size_t kMostPerMinute = 60;  // of all peers together

  // Whole seconds until a token of this peer is looked at; 0: now. `now_s` only ever grows.
  [[nodiscard]] std::uint32_t wait_s(const std::string& peer, double now_s) const;
  void add_wrong(const std::string& peer, double now_s);
  void add_right(const std::string& peer);
  [[nodiscard]] std::size_t peers() const { return peers_.size(); }

 private:
  struct Peer {
    std::uint32_t wrong = 0;
    double last_s = 0;
    double until_s = 0;
  };
  std::map<std::string, Peer> peers_;  // by network: see network_of()
  std::deque<double> recent_;          // when the last wrong ones came, of all peers
};

// What counts as one peer: an IPv4 address, or the first 64 bits of an IPv6 address, whose rest anybody can choose.
[[nodiscard]] std::string network_of(const std::string& address);

}  // namespace muster
