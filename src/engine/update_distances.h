// How far the first updates of a run's clients are from each other, by two measures: by their cosines with the leading
// directions of all updates, and by how differently they stand to all others (FedGroup's EDC and MADC). Made again from
// a run's recipe: the same clients train the same steps.
#pragma once

#include <span>
#include <vector>

#include "base/result.h"
#include "recipe/recipe.h"

namespace muster {

// Of every pair of clients that were asked, in the same order.
struct UpdateDistances {
  std::vector<double> by_directions;
  std::vector<double> by_others;
};

// `recipe`: as a run's folder has it. Fails if its groups are not formed by updates.
[[nodiscard]] Result<UpdateDistances> update_distances(const Recipe& recipe, std::uint32_t threads);

// Pearson's; NaN if one of them does not vary. Precondition: as many in both.
[[nodiscard]] double correlation(std::span<const double> a, std::span<const double> b);

}  // namespace muster
