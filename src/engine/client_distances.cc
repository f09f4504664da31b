#include "engine/client_distances.h"

#include <algorithm>

#include "base/finite.h"
#include "grouping/group_defaults.h"
#include "grouping/updates.h"
#include "recipe/choices.h"

namespace muster {
namespace {

constexpr std::size_t kComparedClients = 200;  // a matrix of more fills the file, and nobody can read it

}  // namespace

std::string compared_by(const Recipe& recipe, const ProfileKind& kind) {
  if (grouper_has_key(recipe, "metric")) return with_defaults(recipe.grouping, 0).metric;
  return kind.directs_start() ? "cosine" : "l2";
}

ClientDistances client_distances(std::string metric, std::vector<ClientVector> clients) {
  std::erase_if(clients, [](const ClientVector& client) { return !all_finite(client.vector); });
  std::ranges::sort(clients, {}, &ClientVector::client);
  const std::size_t compared = std::min(clients.size(), kComparedClients);
  ClientDistances found{.metric = std::move(metric), .clients = {}, .rows = {}};
  if (compared == 0) return found;
  Rows<float> vectors(static_cast<std::uint32_t>(compared), clients.front().vector.size());
  for (std::uint32_t i = 0; i < compared; ++i) {
    const ClientVector& taken = clients[i * clients.size() / compared];
    found.clients.push_back(taken.client);
    std::ranges::copy(taken.vector, vectors.row(i).begin());
  }
  found.rows = distances_by(found.metric, vectors);
  return found;
}

}  // namespace muster
