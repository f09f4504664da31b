#include "grouping/newcomers.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace muster {
namespace {

Status check_finite(const char* what, std::span<const float> values) {
  const auto broken = std::ranges::find_if(values, [](float value) { return !std::isfinite(value); });
  if (broken == values.end()) return {};
  return failure("{}: {} at {}, want finite numbers", what, *broken, broken - values.begin());
}

Status check_width(const char* what, std::size_t width, std::size_t wanted) {
  if (width == wanted) return {};
  return failure("{}: {} numbers, want {} as in the groups", what, width, wanted);
}

// In several sums side by side: one alone would wait for each addition.
template <typename Term>
double sum_over(std::size_t count, Term term) {
  constexpr std::size_t kSums = 8;
  std::array<double, kSums> sums{};
  std::size_t c = 0;
  for (; c + kSums <= count; c += kSums) {
    for (std::size_t s = 0; s < kSums; ++s) sums[s] += term(c + s);
  }
  for (; c < count; ++c) sums[0] += term(c);
  return ((sums[0] + sums[4]) + (sums[2] + sums[6])) + ((sums[1] + sums[5]) + (sums[3] + sums[7]));
}

double length(std::span<const float> x) {
  return std::sqrt(sum_over(x.size(), [&](std::size_t c) { return double{x[c]} * x[c]; }));
}

}  // namespace

Rows<float> group_means(const RowsView<float>& vectors, const Grouping& grouping) {
  Rows<float> means(grouping.count(), vectors.width);
  std::vector<double> sum(vectors.width);
  for (std::uint32_t g = 0; g < grouping.count(); ++g) {
    std::ranges::fill(sum, 0.0);
    const std::span<const ClientId> members = grouping.members({g});
    for (const ClientId client : members) {
      const std::span<const float> row = vectors.row(client.value);
      for (std::size_t c = 0; c < row.size(); ++c) sum[c] += row[c];
    }
    const auto size = static_cast<double>(members.size());
    std::ranges::transform(sum, means.row(g).begin(), [&](double value) { return static_cast<float>(value / size); });
  }
  return means;
}

Result<GroupDirections> GroupDirections::make(const RowsView<float>& directions, std::span<const std::uint32_t> sizes) {
  if (directions.empty() || directions.count() != sizes.size()) {
    return failure("directions: {} for {} groups, want one for each group", directions.count(), sizes.size());
  }
  MUSTER_TRY(check_finite("directions", directions.values));
  GroupDirections result;
  result.units_ = Rows<float>(directions.count(), directions.width);
  for (std::uint32_t g = 0; g < directions.count(); ++g) {
    const double scale = length(directions.row(g));
    if (scale == 0) continue;
    std::ranges::transform(directions.row(g), result.units_.row(g).begin(),
                           [&](float value) { return static_cast<float>(value / scale); });
  }
  result.largest_ = static_cast<std::uint32_t>(std::ranges::max_element(sizes) - sizes.begin());
  return result;
}

Result<Placement> GroupDirections::place(std::span<const float> update) const {
  MUSTER_TRY(check_width("update", update.size(), units_.width));
  MUSTER_TRY(check_finite("update", update));
  const double scale = length(update);
  if (scale == 0) return Placement{.group = largest_, .dissimilarity = 0.5};
  Placement best;
  for (std::uint32_t g = 0; g < units_.count(); ++g) {
    const std::span<const float> unit = units_.row(g);
    const double product = sum_over(unit.size(), [&](std::size_t c) { return double{unit[c]} * update[c]; });
    const double dissimilarity = (1 - std::clamp(product / scale, -1.0, 1.0)) / 2;
    if (g == 0 || dissimilarity < best.dissimilarity) best = {.group = g, .dissimilarity = dissimilarity};
  }
  return best;
}

Result<Placement> nearest_head(const RowsView<float>& heads, std::span<const float> head) {
  MUSTER_TRY(check_width("vectors", head.size(), heads.width));
  MUSTER_TRY(check_finite("vectors", head));
  MUSTER_TRY(check_finite("centres", heads.values));
  if (heads.empty()) return failure("centres: none, want one for each group");
  Placement best;
  for (std::uint32_t g = 0; g < heads.count(); ++g) {
    const std::span<const float> other = heads.row(g);
    const double distance = std::sqrt(sum_over(head.size(), [&](std::size_t c) {
      const double difference = double{head[c]} - other[c];
      return difference * difference;
    }));
    if (g == 0 || distance < best.dissimilarity) best = {.group = g, .dissimilarity = distance};
  }
  return best;
}

Result<Placement> smallest_loss(std::span<const float> losses) {
  if (losses.empty()) return failure("losses: none, want one for each model");
  Placement best{.group = 0, .dissimilarity = std::numeric_limits<double>::infinity()};
  for (std::uint32_t model = 0; model < losses.size(); ++model) {
    if (!std::isfinite(losses[model]) || losses[model] >= best.dissimilarity) continue;
    best = {.group = model, .dissimilarity = losses[model]};
  }
  return best;
}

}  // namespace muster
