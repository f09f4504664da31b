// `bench store`: what recording costs a run, and how fast a large store answers.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "app/bench_scale.h"
#include "base/result.h"

namespace muster {

// The sizes that the limits are for; tests take smaller ones.
struct StoreBenchOptions {
  std::uint32_t runs = 1000;
  std::uint32_t rounds = 1000;           // of each
  std::uint32_t recorded_rounds = 2000;  // of the run that is recorded
  std::uint32_t pairs = 5;               // of runs with and without a store, one after the other
  std::function<void(const std::string&)> say;
};

// Fails if the store does not tell what it was given.
[[nodiscard]] Result<std::vector<ScaleCase>> run_store_bench(const StoreBenchOptions& options);

}  // namespace muster
