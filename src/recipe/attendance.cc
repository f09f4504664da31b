#include "recipe/attendance.h"

#include "base/random.h"

namespace muster {

std::vector<std::uint32_t> late_clients(const Recipe& recipe, std::uint32_t clients) {
  if (!recipe.newcomers.round) return {};
  Stream stream({.seed = recipe.seed, .purpose = Purpose::kSampling, .part = 2});
  return stream.sample(clients, recipe.newcomers.clients.of(clients));
}

std::vector<ClientId> asked_clients(const Recipe& recipe, std::uint32_t round, std::vector<ClientId> present) {
  const auto there = static_cast<std::uint32_t>(present.size());
  const std::uint32_t wanted = recipe.profile_clients.of(there);
  if (wanted >= there) return present;
  Stream stream({.seed = recipe.seed, .purpose = Purpose::kGrouping, .round = round, .part = 2});
  std::vector<ClientId> asked;
  for (const std::uint32_t i : stream.sample(there, wanted)) asked.push_back(present[i]);
  return asked;
}

}  // namespace muster
