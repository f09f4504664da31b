// `bench grouping`: seconds that each method may take, on one core, and how the time grows. A result is checked before
// its time counts: planted clusters must be found, mixed groups must be better mixed than random ones.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"

namespace muster {

struct GroupingCase {
  std::string name;
  double seconds = 0;  // the fastest of a few, at the largest size
  double at_most = 0;
  std::string checked;  // what was checked
  double exponent = 0;  // of the growth of time with clients, over `sizes`
  std::string sizes;    // clients and their seconds, e.g. "250: 0.0004, 500: 0.0012, 1000: 0.004"
  double peak_mb = 0;   // growth of the process's peak memory during the case

  [[nodiscard]] bool ok() const { return seconds <= at_most; }
};

struct GroupingBenchOptions {
  double scale = 1;    // of the numbers of clients; tests take smaller ones
  bool large = false;  // also the case of 100,000 clients
  std::string only;    // cases whose name has this in it; "" = all
  std::function<void(const std::string&)> say;
};

// Fails if a check does.
[[nodiscard]] Result<std::vector<GroupingCase>> run_grouping_bench(const GroupingBenchOptions& options);

}  // namespace muster
