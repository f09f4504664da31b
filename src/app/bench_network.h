// `bench network`: what a deployment on this machine takes: how fast models travel, how long a run takes against its
// simulation, what a connection costs the cloud, and how it fares with thousands of clients. Every run must have the
// signature of its simulation before its time counts.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"

namespace muster {

struct NetworkCase {
  std::string name;
  double value = 0;
  std::string unit;
  double at_least = 0;    // 0: no such bound
  double at_most = 0;     // likewise
  double ratio = 0;       // against a reference measured in the same run; 0: there is none
  std::string reference;  // what that is
  std::string checked;    // what was checked

  [[nodiscard]] bool ok() const { return value >= at_least && (at_most == 0 || value <= at_most); }
};

struct NetworkBenchOptions {
  std::string program;  // that was built with the network
  std::string only;     // cases whose name has this in it; "" = all
  std::uint32_t repeats = 3;
  double scale = 1;  // of clients, connections and rounds; tests take less
  std::function<void(const std::string&)> say;
};

// Fails if a process does, or if a run and its simulation differ. Precondition: as of measure_transfer().
[[nodiscard]] Result<std::vector<NetworkCase>> run_network_bench(const NetworkBenchOptions& options);

}  // namespace muster
