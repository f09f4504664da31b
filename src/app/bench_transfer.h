// How fast models travel over one stream on loopback, through our own chunks, checksums and channel: from one process
// to another, both made here. Every vector is compared with what was sent.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "net/net_credentials.h"

namespace muster {

struct TransferOptions {
  NetCredentials listener;  // plain: both are
  NetCredentials dialler;
  std::size_t values = std::size_t{4} << 20;  // of a vector
  std::uint32_t vectors = 16;                 // of a window, which is timed
  std::uint32_t windows = 6;                  // each way, of which the fastest counts
};

struct TransferRates {
  double up_gb_per_s = 0;    // from the one that dialled
  double down_gb_per_s = 0;  // to it
};

// Precondition: this process has not used gRPC yet and has no other thread, for it forks.
[[nodiscard]] Result<TransferRates> measure_transfer(const TransferOptions& options);

}  // namespace muster
