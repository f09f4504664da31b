// The wall clock that never goes back.
#pragma once

#include <chrono>

namespace muster {

// Seconds since some moment; only differences mean something.
[[nodiscard]] inline double now_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace muster
