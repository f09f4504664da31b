// `bench secure`: what secure sums and filters take at the sizes that have limits, and the cost of each group operation
// as a curve over the group's size, for models of several sizes, as cost.model = "group-operations" reads it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "app/bench_scale.h"
#include "cost/measured_costs.h"

namespace muster {

// The sizes that the limits are for; tests take smaller ones.
struct SecureBenchOptions {
  std::uint32_t members = 52;
  std::uint32_t parameters = 1'000'000;
  std::uint32_t many = 1000;  // members, who have neighbours
  std::uint32_t many_parameters = 100'000;
  std::uint32_t neighbours = 100;
  std::uint32_t judged = 100;  // models that FLAME judges, multiple of 5
  std::vector<std::uint32_t> group_sizes = {4, 8, 16, 24, 32, 48};
  // Parameters: about those of the networks that Group-FEL's paper measured (M5, ResNet-20), and many.
  std::vector<std::uint32_t> model_sizes = {25'000, 272'000, 1'000'000};
  std::vector<std::uint32_t> epochs_of = {50, 100, 200, 400};  // samples
  double seconds = 0.5;                                        // for which short ones are repeated
  std::function<void(const std::string&)> say;                 // progress for people
};

// Each result is checked before its time counts.
[[nodiscard]] Result<std::vector<ScaleCase>> run_secure_bench(const SecureBenchOptions& options);

// The secure sum and every rule that sees all members of a group, and an epoch of training.
[[nodiscard]] Result<MeasuredCosts> measure_costs(const SecureBenchOptions& options);

// What Group-FEL's authors measured on a Raspberry Pi 4 for such an operation, if they did.
struct PaperCurve {
  const char* what;
  double parameters = 0;  // about so many that a member sends
  FittedCurve curve;
};
[[nodiscard]] std::vector<PaperCurve> paper_curves(std::string_view operation);

}  // namespace muster
