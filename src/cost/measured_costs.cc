#include "cost/measured_costs.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "base/check.h"

namespace muster {
namespace {

constexpr std::size_t kMostTerms = 3;

// Normal equations of 1, x, x^2, ... up to `terms`, with x in units of its largest, so that all are of one size.
FittedCurve fit(std::span<const double> x, std::span<const double> seconds, std::size_t terms) {
  MUSTER_CHECK(x.size() == seconds.size() && std::set<double>(x.begin(), x.end()).size() >= terms,
               "{} and {} numbers for a curve of {} terms", x.size(), seconds.size(), terms);
  double largest = 0;
  for (const double value : x) largest = std::max(largest, std::abs(value));
  std::array<std::array<double, kMostTerms + 1>, kMostTerms> rows{};
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double scaled = x[i] / largest;
    const std::array<double, kMostTerms> powers{1, scaled, scaled * scaled};
    for (std::size_t a = 0; a < terms; ++a) {
      for (std::size_t b = 0; b < terms; ++b) rows[a][b] += powers[a] * powers[b];
      rows[a][kMostTerms] += powers[a] * seconds[i];
    }
  }
  for (std::size_t pivot = 0; pivot < terms; ++pivot) {  // positive definite: no rows need to be exchanged
    for (std::size_t row = 0; row < terms; ++row) {
      if (row == pivot) continue;
      const double factor = rows[row][pivot] / rows[pivot][pivot];
      for (std::size_t k = pivot; k <= kMostTerms; ++k) rows[row][k] -= factor * rows[pivot][k];
    }
  }
  std::array<double, kMostTerms> found{};
  for (std::size_t i = 0; i < terms; ++i) found[i] = rows[i][kMostTerms] / rows[i][i];
  FittedCurve curve{.quadratic = found[2] / (largest * largest), .linear = found[1] / largest, .constant = found[0]};

  double mean = 0;
  for (const double value : seconds) mean += value / static_cast<double>(seconds.size());
  double left = 0;
  double all = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double off = seconds[i] - curve.at(x[i]);
    left += off * off;
    all += (seconds[i] - mean) * (seconds[i] - mean);
  }
  curve.r2 = all > 0 ? 1 - left / all : 1;
  return curve;
}

// a + share (b - a)
FittedCurve on_line(const FittedCurve& a, const FittedCurve& b, double share) {
  return {.quadratic = a.quadratic + share * (b.quadratic - a.quadratic),
          .linear = a.linear + share * (b.linear - a.linear),
          .constant = a.constant + share * (b.constant - a.constant),
          .r2 = std::min(a.r2, b.r2)};
}

}  // namespace

FittedCurve fit_quadratic(std::span<const double> x, std::span<const double> seconds) {
  return fit(x, seconds, 3);
}

FittedCurve fit_line(std::span<const double> x, std::span<const double> seconds) {
  return fit(x, seconds, 2);
}

std::vector<std::string> measured_operations(const MeasuredCosts& costs) {
  std::vector<std::string> names;
  for (const MeasuredOperation& one : costs.operations) {
    if (std::ranges::find(names, one.operation) == names.end()) names.push_back(one.operation);
  }
  return names;
}

Result<FittedCurve> operation_curve(const MeasuredCosts& costs, std::string_view operation, double parameters) {
  std::vector<const MeasuredOperation*> sizes;
  for (const MeasuredOperation& one : costs.operations) {
    if (one.operation == operation) sizes.push_back(&one);
  }
  if (sizes.empty()) {
    return failure("no measurements of {}; it has {}", operation, fmt::join(measured_operations(costs), ", "));
  }
  const auto size_of = [&](std::size_t i) { return static_cast<double>(sizes[i]->parameters); };
  if (sizes.size() == 1 || parameters <= size_of(0)) return sizes[0]->by_size;
  std::size_t above = 1;
  while (above + 1 < sizes.size() && size_of(above) < parameters) ++above;
  return on_line(sizes[above - 1]->by_size, sizes[above]->by_size,
                 (parameters - size_of(above - 1)) / (size_of(above) - size_of(above - 1)));
}

Result<CostOptions> with_measured(CostOptions options, const MeasuredCosts& costs, std::string_view operation,
                                  const NetworkSize& network) {
  MUSTER_ASSIGN(const FittedCurve curve, operation_curve(costs, operation, static_cast<double>(network.values)));
  if (!options.training_slope && !(network.sample_flops > 0)) {
    return usage_error(
        "cost.training-slope: not set, and the network does not tell what a sample costs; want a number");
  }
  options.file.clear();
  options.operation_quadratic = curve.quadratic;
  options.operation_linear = curve.linear;
  options.operation_constant = curve.constant;
  if (!options.training_slope) options.training_slope = costs.epoch.linear * network.sample_flops / 1e9;
  if (!options.training_constant) options.training_constant = costs.epoch.constant;
  return options;
}

}  // namespace muster
