// Quality: how evenly classes are mixed within groups and how alike the groups are. From label counts alone.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace muster {

struct GroupQuality {
  double cov_mean = 0;         // coefficient of variation of a group's label counts, mean over groups
  double cpd_median = 0;       // class probability distance between two groups, median over pairs
  double balance_ratio = 0;    // rarest over most frequent class in a group, mean over groups
  double covered_classes = 0;  // share of the classes that a group has, mean over groups
};

// std / mean of the counts (population form); +infinity for an empty group.
[[nodiscard]] double coefficient_of_variation(std::span<const std::uint32_t> counts);

// Biased MMD^2 with a Gaussian kernel of width `sigma` on one-hot classes: (1 - exp(-1 / sigma^2)) * |P - Q|^2, where P
// and Q are the normalised counts. An empty group counts as uniform.
[[nodiscard]] double class_probability_distance(std::span<const std::uint32_t> a, std::span<const std::uint32_t> b,
                                                double sigma = 1);

// min over max of the counts; 0 for an empty group.
[[nodiscard]] double balance_ratio(std::span<const std::uint32_t> counts);
[[nodiscard]] double covered_classes(std::span<const std::uint32_t> counts);

// One row of counts per group. With fewer than two groups the median distance is 0. Empty groups do not enter cov_mean.
[[nodiscard]] GroupQuality judge_groups(std::span<const std::vector<std::uint32_t>> counts);

}  // namespace muster
