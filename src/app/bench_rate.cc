#include "app/bench_rate.h"

#include <algorithm>

namespace muster {

Rate rate_of(std::vector<double> windows) {
  std::sort(windows.begin(), windows.end());
  const std::size_t middle = windows.size() / 2;
  const double median = windows.size() % 2 == 1 ? windows[middle] : (windows[middle - 1] + windows[middle]) / 2;
  return {median, windows.front(), windows.back()};
}

}  // namespace muster
