#include "wire/allowance.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace muster {

void Allowance::earn(const Amount& more) {
  left_.frames += more.frames;
  left_.bytes += more.bytes;
}

std::chrono::milliseconds Allowance::spend(std::uint64_t bytes, Time now) {
  const double passed_s = std::max(0.0, std::chrono::duration<double>(now - std::exchange(seen_, now)).count());
  // Time fills up to `first` only; what asks brought stays until it is used.
  const auto refilled = [&](double left, double first, double rate) {
    return left >= first ? left : std::min(first, left + rate * passed_s);
  };
  left_.frames = refilled(left_.frames, first_.frames, per_second_.frames) - 1;
  left_.bytes = refilled(left_.bytes, first_.bytes, per_second_.bytes) - static_cast<double>(bytes);
  const double owed_s = std::max({0.0, -left_.frames / per_second_.frames, -left_.bytes / per_second_.bytes});
  return std::chrono::milliseconds(std::llround(std::ceil(1000 * owed_s)));
}

}  // namespace muster
