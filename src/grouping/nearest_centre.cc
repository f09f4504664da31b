// Groups around centres: each client joins the centre that is nearest to its vector (L2). Where no centres are given
// they are found by k-means, which is the alternation of FeSEM (Xie et al. 2021) on models that stand still.
#include <algorithm>
#include <cmath>

#include "grouping/eigenpairs.h"
#include "grouping/gram.h"
#include "grouping/groupers.h"
#include "grouping/kmeans.h"
#include "grouping/newcomers.h"
#include "grouping/updates.h"

namespace muster {
namespace {

constexpr std::uint32_t kIterations = 100;

// Long vectors of few clients: k-means needs only their distances, and points of n numbers have the same ones. Equal
// vectors become equal points, which k-means keeps together.
Rows<double> points_of(const RowsView<float>& vectors, const std::vector<std::uint32_t>& first) {
  Rows<double> points(vectors.count(), vectors.width);
  if (vectors.width <= vectors.count()) {
    std::ranges::copy(vectors.values, points.values.begin());
    return points;
  }
  points = points_with_gram(gram(vectors, Centring::kMean));
  for (std::uint32_t k = 0; k < points.count(); ++k) {
    if (first[k] != k) std::ranges::copy(points.row(first[k]), points.row(k).begin());
  }
  return points;
}

Draft by_found_centres(const RowsView<float>& vectors, std::uint32_t groups, Stream stream) {
  const std::vector<std::uint32_t> first = first_equal_rows(vectors);
  std::uint32_t distinct = 0;
  for (std::uint32_t k = 0; k < first.size(); ++k) distinct += first[k] == k ? 1 : 0;
  Draft draft;
  if (distinct <= groups) {
    draft.groups = sets_of(first, vectors.count());
  } else {
    const KMeansOptions search{.clusters = groups, .max_iterations = kIterations};
    draft.groups = sets_of(k_means(points_of(vectors, first), search, stream).cluster, groups);
  }
  if (distinct < groups) {
    draft.notes.push_back(too_few_distinct(groups, distinct, "vector", draft.groups.size()));
  } else if (draft.groups.size() < groups) {
    draft.notes.push_back(fmt::format("grouping.groups: {}, but {} formed: some vectors differ by less than rounding",
                                      groups, draft.groups.size()));
  }
  return draft;
}

Draft by_centre(const std::vector<std::uint32_t>& centre_of_client, std::uint32_t centres) {
  Draft draft{.groups = sets_of(centre_of_client, centres), .notes = {}};
  if (draft.groups.size() < centres) {
    draft.notes.push_back(
        fmt::format("no client is nearest to {} of the {} centres", centres - draft.groups.size(), centres));
  }
  return draft;
}

}  // namespace

Status check_nearest_centre(const GroupingOptions& options, const KnownAhead& ahead) {
  if (options.groups || ahead.groups_in_call || ahead.centres) return {};
  return groups_not_set(options.method);
}

Result<Draft> group_nearest_centre(const GroupingOptions& options, const GroupingInput& input,
                                   const GroupingCall& call) {
  if (input.centres.empty()) {
    const std::uint32_t groups = *call.groups;
    if (input.vectors.width > input.vectors.count()) MUSTER_TRY(check_pairs("nearest-centre", input.vectors.count()));
    return by_found_centres(input.vectors, groups, grouping_stream(call));
  }
  const std::uint32_t centres = input.centres.count();
  if (options.groups && *options.groups != centres) {
    return usage_error("grouping.groups: {}, want {}, the number of centres given", *options.groups, centres);
  }
  std::vector<std::uint32_t> nearest;
  for (std::uint32_t k = 0; k < input.vectors.count(); ++k) {
    MUSTER_ASSIGN(const Placement placement, nearest_head(input.centres, input.vectors.row(k)));
    nearest.push_back(placement.group);
  }
  return by_centre(nearest, centres);
}

}  // namespace muster
