// Dropped: a client that was asked for something and sent nothing usable, and why. A client that is late, gone or wrong
// is data, not an error.
#pragma once

#include <string_view>

#include "base/ids.h"

namespace muster {

enum class DropReason {
  kFault,
  kStraggler,
  kNoSamples,
  kNonFinite,
  kUnreachable,
  kMalformed,
  kNotNeeded,
  kAbandoned,
  kRefused
};
// As the record has it.
[[nodiscard]] std::string_view name(DropReason reason);

struct Dropped {
  ClientId client;
  DropReason reason = DropReason::kFault;
};

}  // namespace muster
