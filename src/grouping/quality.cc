#include "grouping/quality.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace muster {
namespace {

double total_of(std::span<const std::uint32_t> counts) {
  return std::accumulate(counts.begin(), counts.end(), 0.0);
}

}  // namespace

double coefficient_of_variation(std::span<const std::uint32_t> counts) {
  const double total = total_of(counts);
  if (total == 0) return std::numeric_limits<double>::infinity();
  const double share = 1.0 / static_cast<double>(counts.size());
  double sum = 0;
  for (const std::uint32_t count : counts) sum += (count / total - share) * (count / total - share);
  return std::sqrt(static_cast<double>(counts.size()) * sum);
}

double class_probability_distance(std::span<const std::uint32_t> a, std::span<const std::uint32_t> b, double sigma) {
  const double total_a = total_of(a);
  const double total_b = total_of(b);
  const double uniform = 1.0 / static_cast<double>(a.size());
  double sum = 0;
  for (std::size_t c = 0; c < a.size(); ++c) {
    const double p = total_a > 0 ? a[c] / total_a : uniform;
    const double q = total_b > 0 ? b[c] / total_b : uniform;
    sum += (p - q) * (p - q);
  }
  return -std::expm1(-1 / (sigma * sigma)) * sum;
}

double balance_ratio(std::span<const std::uint32_t> counts) {
  const auto [low, high] = std::minmax_element(counts.begin(), counts.end());
  return *high == 0 ? 0.0 : static_cast<double>(*low) / *high;
}

double covered_classes(std::span<const std::uint32_t> counts) {
  const auto present = std::count_if(counts.begin(), counts.end(), [](std::uint32_t count) { return count > 0; });
  return static_cast<double>(present) / static_cast<double>(counts.size());
}

GroupQuality judge_groups(std::span<const std::vector<std::uint32_t>> counts) {
  GroupQuality quality;
  if (counts.empty()) return quality;
  std::size_t finite = 0;
  for (const auto& row : counts) {
    if (const double cov = coefficient_of_variation(row); std::isfinite(cov)) {
      quality.cov_mean += cov;
      ++finite;
    }
    quality.balance_ratio += balance_ratio(row);
    quality.covered_classes += covered_classes(row);
  }
  if (finite > 0) quality.cov_mean /= static_cast<double>(finite);
  quality.balance_ratio /= static_cast<double>(counts.size());
  quality.covered_classes /= static_cast<double>(counts.size());

  std::vector<double> distances;
  distances.reserve(counts.size() * (counts.size() - 1) / 2);
  for (std::size_t i = 0; i < counts.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) distances.push_back(class_probability_distance(counts[i], counts[j]));
  }
  if (!distances.empty()) {
    const auto middle = distances.begin() + static_cast<std::ptrdiff_t>(distances.size() / 2);
    std::nth_element(distances.begin(), middle, distances.end());
    quality.cpd_median = *middle;
    if (distances.size() % 2 == 0) {
      quality.cpd_median = (quality.cpd_median + *std::max_element(distances.begin(), middle)) / 2;
    }
  }
  return quality;
}

}  // namespace muster
