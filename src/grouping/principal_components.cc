// With far more numbers than clients the n x n matrix of inner products of the centred rows has the same information as
// the d x d covariance: with u, lambda its eigenvectors and eigenvalues, row i has coordinate sqrt(lambda) * u_i on
// that component.
#include "grouping/principal_components.h"

#include <algorithm>
#include <cmath>

#include "grouping/eigenpairs.h"
#include "grouping/gram.h"

namespace muster {
namespace {

// The columns as rows, each less its mean.
Rows<float> centred_columns(const RowsView<float>& rows) {
  const std::uint32_t n = rows.count();
  Rows<float> columns(static_cast<std::uint32_t>(rows.width), n);
  for (std::uint32_t c = 0; c < columns.count(); ++c) {
    double sum = 0;
    for (std::uint32_t i = 0; i < n; ++i) sum += rows.row(i)[c];
    for (std::uint32_t i = 0; i < n; ++i) columns.row(c)[i] = static_cast<float>(rows.row(i)[c] - sum / n);
  }
  return columns;
}

// How many of the eigenvalues, which are descending, hold `share` of their sum.
std::uint32_t leading(std::span<const double> values, double share) {
  double all = 0;
  for (const double value : values) all += std::max(0.0, value);
  const double wanted = share * (1 - 1e-12) * all;
  double sum = 0;
  std::uint32_t count = 0;
  while (count < values.size() && (count == 0 || sum < wanted)) sum += std::max(0.0, values[count++]);
  return count;
}

// Every row's coordinate on component `c`, for components of the rows' inner products or of the columns'.
std::vector<double> coordinates(const EigenPairs& pairs, std::uint32_t c) {
  std::vector<double> result;
  const double length = std::sqrt(std::max(0.0, pairs.values[c]));
  for (const double value : pairs.vectors.row(c)) result.push_back(length * value);
  return result;
}

std::vector<double> coordinates(const EigenPairs& pairs, std::uint32_t c, const Rows<float>& columns) {
  std::vector<double> result(columns.width);
  for (std::uint32_t column = 0; column < columns.count(); ++column) {
    const double share = pairs.vectors.row(c)[column];
    for (std::uint32_t i = 0; i < result.size(); ++i) result[i] += share * columns.row(column)[i];
  }
  return result;
}

}  // namespace

Rows<float> principal_components(const RowsView<float>& rows, double share) {
  const std::uint32_t n = rows.count();
  if (n == 0) return {};
  const bool by_rows = rows.width > n;
  const Rows<float> columns = by_rows ? Rows<float>() : centred_columns(rows);
  const Rows<double> products = by_rows ? gram(rows, Centring::kMean) : gram(columns);
  const EigenPairs pairs = leading_eigenpairs(products, products.count());
  const std::uint32_t kept = leading(pairs.values, share);
  Rows<float> result(n, kept);
  for (std::uint32_t c = 0; c < kept; ++c) {
    const std::vector<double> values = by_rows ? coordinates(pairs, c) : coordinates(pairs, c, columns);
    // An eigenvector's sign is arbitrary: the coordinate that is farthest from 0 is made positive.
    const auto farthest = std::ranges::max_element(values, {}, [](double value) { return std::abs(value); });
    const double sign = *farthest < 0 ? -1 : 1;
    for (std::uint32_t i = 0; i < n; ++i) result.row(i)[c] = static_cast<float>(sign * values[i]);
  }
  return result;
}

}  // namespace muster
