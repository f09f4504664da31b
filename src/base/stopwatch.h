// Stopwatch: adds the wall time from its making to its end of life to a sum, or does nothing if there is none to add
// to.
#pragma once

#include <chrono>

namespace muster {

class Stopwatch {
 public:
  // `seconds` outlives the stopwatch; null costs one comparison.
  explicit Stopwatch(double* seconds) : seconds_(seconds) {
    if (seconds_) start_ = Clock::now();
  }
  ~Stopwatch() {
    if (seconds_) *seconds_ += std::chrono::duration<double>(Clock::now() - start_).count();
  }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

 private:
  using Clock = std::chrono::steady_clock;
  double* seconds_;
  Clock::time_point start_;
};

}  // namespace muster
