// Silence: for how long nobody has answered a process that keeps looking. Looked at often: of a longer while the
// process was stopped, or its machine asleep, and it has not been looking for anybody.
#pragma once

#include <algorithm>
#include <chrono>

namespace muster {

class Silence {
 public:
  using Clock = std::chrono::steady_clock;

  explicit Silence(Clock::time_point now) : seen_(now) {}

  void end() { silent_ = {}; }
  // What has passed since the last look is added, but for what is too long for one.
  std::chrono::duration<double> look(Clock::time_point now) {
    silent_ += std::min<std::chrono::duration<double>>(now - seen_, kLongestLook);
    seen_ = now;
    return silent_;
  }

 private:
  static constexpr std::chrono::duration<double> kLongestLook{0.5};
  Clock::time_point seen_;
  std::chrono::duration<double> silent_{};
};

}  // namespace muster
