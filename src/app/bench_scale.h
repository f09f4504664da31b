// `bench scale`: memory that must not grow and work that must not take long, at full size.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"

namespace muster {

struct ScaleCase {
  std::string name;
  double value = 0;
  std::string unit;
  double at_most = 0;
  std::string note;  // "" or what was measured in another way

  [[nodiscard]] bool ok() const { return value <= at_most; }
};

// The sizes that the limits are for; tests take smaller ones.
struct ScaleBenchOptions {
  std::uint32_t clients = 1'000'000;  // for more the limits of start-up and memory grow: 1.5 s and 100 MB a million
  std::uint32_t rounds = 200;
  std::uint32_t mnist_rounds = 100;
  std::uint32_t models = 100;
  std::size_t parameters = 6'600'000;
  std::function<void(const std::string&)> say;  // progress for people
};

// Many virtual clients first: peak memory is the process's own.
[[nodiscard]] Result<std::vector<ScaleCase>> run_scale_bench(const ScaleBenchOptions& options);

}  // namespace muster
