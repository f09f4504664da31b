#include "engine/update_distances.h"

#include <cmath>

#include "base/random.h"
#include "engine/simulated_federation.h"
#include "grouping/updates.h"
#include "recipe/attendance.h"

namespace muster {
namespace {

Result<Rows<float>> first_updates(const Recipe& recipe, LocalFederation& federation) {
  const Network& network = federation.network();
  std::vector<float> start(network.size());
  Stream stream({.seed = recipe.seed, .purpose = Purpose::kInitialise, .part = federation.profile_kind().start_part()});
  network.initialise(start, stream);
  const std::vector<ClientId> asked = asked_clients(recipe, 1, federation.roster().present(1));
  MUSTER_ASSIGN(CollectedProfiles told,
                federation.profile({.clients = asked, .round = 1, .as_of_round = 1, .models = {start, start.size()}}));
  return std::move(told.profiles.vectors);
}

double distance(std::span<const double> a, std::span<const double> b) {
  double squares = 0;
  for (std::size_t i = 0; i < a.size(); ++i) squares += (a[i] - b[i]) * (a[i] - b[i]);
  return std::sqrt(squares);
}

}  // namespace

Result<UpdateDistances> update_distances(const Recipe& recipe, std::uint32_t threads) {
  if (recipe.profile.kind != "update-direction" || !recipe.grouping.groups) {
    return usage_error("profile.kind: \"{}\", want \"update-direction\" and grouping.groups", recipe.profile.kind);
  }
  MUSTER_ASSIGN(const std::unique_ptr<FederatedData> data,
                make_federated_data(recipe.data, recipe.data_seed.value_or(recipe.seed)));
  MUSTER_ASSIGN(const std::unique_ptr<LocalFederation> federation,
                make_simulated_federation(recipe, threads, nullptr, *data, {}));
  MUSTER_ASSIGN(const Rows<float> updates, first_updates(recipe, *federation));
  const Directed directed = directed_updates(updates);
  const Rows<double> cosines = direction_cosines(directed.gram, *recipe.grouping.groups);
  const Rows<double> others = mean_absolute_cosine_differences(directed.gram);
  UpdateDistances distances;
  for (std::uint32_t i = 0; i < cosines.count(); ++i) {
    for (std::uint32_t k = i + 1; k < cosines.count(); ++k) {
      distances.by_directions.push_back(distance(cosines.row(i), cosines.row(k)) / *recipe.grouping.groups);
      distances.by_others.push_back(others.row(i)[k]);
    }
  }
  return distances;
}

double correlation(std::span<const double> a, std::span<const double> b) {
  MUSTER_CHECK(a.size() == b.size(), "{} and {} values", a.size(), b.size());
  double sum_a = 0;
  double sum_b = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    sum_a += a[i];
    sum_b += b[i];
  }
  const auto count = static_cast<double>(a.size());
  double both = 0;
  double squares_a = 0;
  double squares_b = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double from_a = a[i] - sum_a / count;
    const double from_b = b[i] - sum_b / count;
    both += from_a * from_b;
    squares_a += from_a * from_a;
    squares_b += from_b * from_b;
  }
  return both / std::sqrt(squares_a * squares_b);
}

}  // namespace muster
