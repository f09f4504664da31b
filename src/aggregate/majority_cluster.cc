// FLAME (Nguyen et al. 2022): models of the cluster that more than half of them form, by the cosine distances of all
// pairs; their changes shortened to the median length S of everybody's; the mean of those; noise of deviation
// noise * S on every trained parameter.
//
// The cluster is what HDBSCAN finds with min_cluster_size = floor(n / 2) + 1 and min_samples = 1: two disjoint
// majorities cannot exist, so pairs are joined from the nearest on until a component is large enough. Pairs at the very
// distance that made it one are joined, too, so that the order of the models does not matter. Of less than three models
// none can be told from the others, and all are taken.
#include <algorithm>
#include <cmath>
#include <tuple>

#include "aggregate/aggregator.h"
#include "aggregate/merge_rule.h"
#include "grouping/disjoint_sets.h"
#include "grouping/gram.h"

namespace muster {
namespace {

double length_of(std::span<const float> model) {
  double squares = 0;
  for (const float value : model) squares += double{value} * value;
  return std::sqrt(squares);
}

struct Pair {
  double distance = 0;
  std::uint32_t a = 0;
  std::uint32_t b = 0;
};

// 1 - cos, from the differences of the models: near ones lose no digits. A model of zeros is at 1 from all others.
std::vector<Pair> cosine_distances(const RowsView<float>& models) {
  const Rows<double> apart = l2_distances(models);
  std::vector<double> lengths;
  for (std::uint32_t i = 0; i < models.count(); ++i) lengths.push_back(length_of(models.row(i)));
  std::vector<Pair> pairs;
  for (std::uint32_t a = 0; a < models.count(); ++a) {
    for (std::uint32_t b = a + 1; b < models.count(); ++b) {
      const double product = lengths[a] * lengths[b];
      const double longer = lengths[a] - lengths[b];
      const double distance = apart.row(a)[b];
      const double none = distance == 0 ? 0 : 1;
      pairs.push_back(
          {product > 0 ? std::max(0.0, (distance * distance - longer * longer) / (2 * product)) : none, a, b});
    }
  }
  return pairs;
}

// Who is in it, of each model.
std::vector<bool> majority_of(const RowsView<float>& models) {
  const std::uint32_t count = models.count();
  std::vector<Pair> pairs = cosine_distances(models);
  std::ranges::sort(pairs, {}, [](const Pair& pair) { return std::tuple(pair.distance, pair.a, pair.b); });
  DisjointSets sets(count);
  std::vector<std::uint32_t> sizes(count, 1);
  std::uint32_t largest = 0;  // a member of the majority, once there is one
  double reached = -1;
  for (const Pair& pair : pairs) {
    if (reached >= 0 && pair.distance > reached) break;
    const std::uint32_t a = sets.first_of(pair.a);
    const std::uint32_t b = sets.first_of(pair.b);
    if (a == b) continue;
    const std::uint32_t together = sizes[a] + sizes[b];
    sets.join(a, b);
    sizes[sets.first_of(a)] = together;
    if (together <= count / 2) continue;
    largest = a;
    reached = pair.distance;
  }
  std::vector<bool> inside(count);
  for (std::uint32_t i = 0; i < count; ++i) inside[i] = sets.first_of(i) == sets.first_of(largest);
  return inside;
}

class MajorityCluster final : public MergeRule {
 public:
  explicit MajorityCluster(double noise) : noise_(noise) {}

  MergeReport merge(const MergeInput& input, std::span<float> merged) const override {
    const std::uint32_t count = input.models.count();
    MergeReport report{.filtered = {}, .clipped = {}, .fell_back = count < 3};
    const std::vector<bool> inside = report.fell_back ? std::vector<bool>(count, true) : majority_of(input.models);
    const std::vector<double> lengths = change_lengths(input);
    const double most = median_of(lengths);
    std::vector<double> factors(count, 1.0);
    for (std::uint32_t i = 0; i < count; ++i) {
      if (!inside[i]) {
        factors[i] = 0;
        report.filtered.push_back({i, FilterReason::kMinority});
      } else if (lengths[i] > most) {
        factors[i] = most / lengths[i];
        report.clipped.push_back(i);
      }
    }
    if (most > 0) {
      add_mean_change(input, factors, merged);
      add_noise(noise_ * most, input.noise, merged);
    } else {
      std::ranges::copy(input.start, merged.begin());
    }
    return report;
  }

 private:
  static void add_noise(double deviation, const StreamKey& key, std::span<float> merged) {
    if (deviation <= 0) return;
    Stream stream(key);
    for (float& value : merged) value = static_cast<float>(value + deviation * stream.normal());
  }

  double noise_;
};

}  // namespace

std::unique_ptr<MergeRule> make_majority_cluster(const AggregationOptions& options) {
  return std::make_unique<MajorityCluster>(options.noise);
}

}  // namespace muster
