// ClientDistances: how far apart the vectors are that clients were grouped by: the similarity matrix of AutoCFL's
// Fig. 8. For the record only; what grouping methods compare they compute themselves.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/rows.h"
#include "profile/profile.h"
#include "recipe/recipe.h"

namespace muster {

struct ClientVector {
  ClientId client;
  std::span<const float> vector;  // borrowed; of the same size for all
};

struct ClientDistances {
  std::string metric;             // l1 | l2 | cosine
  std::vector<ClientId> clients;  // ascending
  Rows<double> rows;              // a row and a column for each of them; symmetric
};

// The metric of the grouping method; where it has none to choose, cosine for changes of a model and l2 for all else.
[[nodiscard]] std::string compared_by(const Recipe& recipe, const ProfileKind& kind);

// In any order. Of more than 200 clients so many are taken evenly; vectors that are not finite are left out.
[[nodiscard]] ClientDistances client_distances(std::string metric, std::vector<ClientVector> clients);

}  // namespace muster
