// Quality: how evenly classes are mixed within groups and how alike the groups are (from label counts alone), how much
// their sizes differ, and, where the true clusters are known, how well they were found.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "grouping/grouping.h"

namespace muster {

struct GroupQuality {
  double cov_mean = 0;         // coefficient of variation of a group's label counts, mean over groups
  double cov_max = 0;          // and of the worst group
  double qcid_mean = 0;        // squared distance of a group's class shares from uniform, mean over groups
  double cpd_median = 0;       // class probability distance between two groups, median over pairs
  double cpd_mean = 0;         // its mean
  double cpd_low = 0;          // its lower quartile
  double cpd_high = 0;         // its upper quartile
  double balance_ratio = 0;    // rarest over most frequent class in a group, mean over groups
  double covered_classes = 0;  // share of the classes that a group has, mean over groups
  double emd_mean = 0;         // sum over classes of |share in the group - share in all groups|, mean over groups
};

// std / mean of the counts (population form); +infinity for an empty group.
[[nodiscard]] double coefficient_of_variation(std::span<const std::uint64_t> counts);

// Sum over classes of (share - 1/classes)^2 = CoV^2 / classes; +infinity for an empty group.
[[nodiscard]] double class_imbalance(std::span<const std::uint64_t> counts);

// Biased MMD^2 with a Gaussian kernel of width `sigma` on one-hot classes: (1 - exp(-1 / sigma^2)) * |P - Q|^2, where P
// and Q are the normalised counts. An empty group counts as uniform.
[[nodiscard]] double class_probability_distance(std::span<const std::uint64_t> a, std::span<const std::uint64_t> b,
                                                double sigma = 1);

// min over max of the counts; 0 for an empty group.
[[nodiscard]] double balance_ratio(std::span<const std::uint64_t> counts);
[[nodiscard]] double covered_classes(std::span<const std::uint64_t> counts);

// A row of summed label counts per group.
[[nodiscard]] Rows<std::uint64_t> group_counts(const Grouping& grouping, const RowsView<std::uint32_t>& labels);

// One row of counts per group. With fewer than two groups all distances are 0. Empty groups do not enter cov and qcid.
// Median and quartiles of the distance are over all pairs of at most 1,000 groups, taken evenly from more.
[[nodiscard]] GroupQuality judge_groups(const RowsView<std::uint64_t>& counts);

struct GroupSizes {
  std::uint32_t smallest = 0;
  double mean = 0;
  std::uint32_t largest = 0;
  double deviation = 0;  // population form
};
// Clients per group; all 0 if there are no groups.
[[nodiscard]] GroupSizes group_sizes(const Grouping& grouping);

// How well the true clusters were found. Idle clients count as placed wrongly.
struct Agreement {
  std::uint32_t correct = 0;  // clients that agree under the best one-to-one matching of groups and true clusters
  std::uint32_t clients = 0;
  double adjusted_rand = 0;       // 1 = the same partition, 0 = as by chance; over clients in groups
  double mutual_information = 0;  // normalised by the mean of both entropies; over clients in groups
};
// `truth` has the true cluster of every client.
[[nodiscard]] Agreement agreement(const Grouping& grouping, std::span<const std::uint32_t> truth);

}  // namespace muster
