// One secure sum as a deployment would run it, without the network: real keys, real signatures, credentials of the size
// of certificates. It is checked against the plain sum, and timed by who computes: each client, and the server.
#pragma once

#include <cstdint>

#include "base/result.h"

namespace muster {

struct BenchSum {
  std::uint32_t members = 0;
  std::uint32_t parameters = 0;
  std::uint32_t bits = 32;
  std::uint32_t neighbours = 0;
  double drops = 0;  // share of the members that go when masks are shared and vectors are not sent: the costly moment
};

// In seconds of one core.
struct BenchSumTimes {
  double slowest_client_s = 0;
  double mean_client_s = 0;  // of those that stay
  double server_s = 0;
  double traffic = 0;              // bytes from and to a client, against a plain update of 32-bit floats; the most
  std::uint64_t client_masks = 0;  // vectors of random words that a client makes
  std::uint64_t server_masks = 0;
};

// Fails if the sum is not the plain sum of those who stay.
[[nodiscard]] Result<BenchSumTimes> time_sum(const BenchSum& sum);

// Seconds of one core for a vector of so many random bytes, by the cipher that masks are made with and nothing else.
[[nodiscard]] double cipher_seconds(std::size_t bytes);

}  // namespace muster
