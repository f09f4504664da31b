// MeasuredCosts: what group operations and training take on some machine, as curves that were fitted to measurements.
// Where a paper's constants were measured on another device, cost.model = "group-operations" takes these instead.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cost/cost.h"

namespace muster {

// seconds = quadratic x^2 + linear x + constant
struct FittedCurve {
  double quadratic = 0;
  double linear = 0;
  double constant = 0;
  double r2 = 1;  // share of the variance of the measurements that the curve explains

  [[nodiscard]] double at(double x) const { return quadratic * x * x + linear * x + constant; }
  bool operator==(const FittedCurve&) const = default;
};
// By least squares. Precondition: as many of either, and at least three (of fit_line(): two) distinct x.
[[nodiscard]] FittedCurve fit_quadratic(std::span<const double> x, std::span<const double> seconds);
[[nodiscard]] FittedCurve fit_line(std::span<const double> x, std::span<const double> seconds);

// How long one operation of a group keeps each of its members, by the group's size: what it computes itself, and what
// it waits for while the server does.
struct MeasuredOperation {
  std::string operation;         // a choice of aggregation.in-group
  std::uint64_t parameters = 0;  // of the model
  FittedCurve by_size;

  bool operator==(const MeasuredOperation&) const = default;
};

struct MeasuredCosts {
  std::vector<MeasuredOperation> operations;  // of each one by one or more sizes of models, ascending
  FittedCurve epoch;                          // by 10^9 operations (network.sample_flops) that it takes; a line

  bool operator==(const MeasuredCosts&) const = default;
};

// Each once, in order.
[[nodiscard]] std::vector<std::string> measured_operations(const MeasuredCosts& costs);
// The curve for a model of so many parameters: between two measured sizes on the straight line that joins them, beyond
// the largest on the line through the last two, below the smallest as for that. Fails, naming those that were measured,
// if the operation was not.
[[nodiscard]] Result<FittedCurve> operation_curve(const MeasuredCosts& costs, std::string_view operation,
                                                  double parameters);

// The options with these constants in place of `file`. What is set of training stays; fails if nothing tells what a
// sample of this network costs.
[[nodiscard]] Result<CostOptions> with_measured(CostOptions options, const MeasuredCosts& costs,
                                                std::string_view operation, const NetworkSize& network);

}  // namespace muster
