#include "app/bench_clock.h"

#include <ctime>

namespace muster {
namespace {

double seconds(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

}  // namespace

double cpu_seconds() {
  return seconds(CLOCK_PROCESS_CPUTIME_ID);
}

double wall_seconds() {
  return seconds(CLOCK_MONOTONIC);
}

}  // namespace muster
