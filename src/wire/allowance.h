// Allowance: how much a peer may send. Something to begin with, a little every second, and with each ask as much as its
// answer may take, so that whoever keeps to the protocol is never held up. Whoever sends more is read more slowly, at
// the speed of the little; its frames wait at its own side.
#pragma once

#include <chrono>
#include <cstdint>

namespace muster {

class Allowance {
 public:
  using Time = std::chrono::steady_clock::time_point;
  struct Amount {
    double frames = 0;
    double bytes = 0;
  };

  // `first`: what it has to begin with, and what it has again after a while of silence. `per_second`: both positive.
  Allowance(const Amount& first, const Amount& per_second, Time now)
      : first_(first), per_second_(per_second), left_(first), seen_(now) {}

  // For something that it was asked.
  void earn(const Amount& more);
  // A frame of so many bytes came. How long nothing more is to be read.
  [[nodiscard]] std::chrono::milliseconds spend(std::uint64_t bytes, Time now);

 private:
  Amount first_;
  Amount per_second_;
  Amount left_;  // less than nothing: it owes
  Time seen_;
};

}  // namespace muster
