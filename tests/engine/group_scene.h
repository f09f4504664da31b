// What tests of Groups need: recipes, clients that tell by heart, and groups as lists.
#pragma once

#include <nlohmann/json.hpp>

#include "base/random.h"
#include "engine/groups.h"
#include "train/fake_federation.h"

namespace muster {

using Members = std::vector<std::vector<std::uint32_t>>;

inline std::vector<std::uint32_t> ids_of(std::span<const ClientId> clients) {
  std::vector<std::uint32_t> ids;
  for (const ClientId client : clients) ids.push_back(client.value);
  return ids;
}
inline Members members_of(const Grouping& grouping) {
  Members members;
  for (std::uint32_t g = 0; g < grouping.count(); ++g) members.push_back(ids_of(grouping.members({g})));
  return members;
}
inline std::vector<ClientId> clients_of(const std::vector<std::uint32_t>& ids) {
  std::vector<ClientId> clients;
  for (const std::uint32_t id : ids) clients.push_back({id});
  return clients;
}

inline std::unique_ptr<Groups> groups_of(const Recipe& recipe, Federation& federation, const Oracle* oracle = nullptr) {
  auto groups = Groups::make(recipe, federation, oracle);
  EXPECT_TRUE(groups.ok());
  return std::move(groups).value();
}
inline GroupsFormed formed_by(Result<GroupsFormed> result) {
  EXPECT_TRUE(result.ok()) << result.error().message;
  return result.ok() ? std::move(result).value() : GroupsFormed{};
}

// Two groups of clients by the direction of their update: even ids along the first axis, odd ones along the second, and
// the longer the larger the id. Each group has a model of its own.
inline Recipe by_direction() {
  Recipe recipe;
  recipe.seed = 5;
  recipe.profile = {.kind = "update-direction", .steps = 1};
  recipe.grouping.method = "decomposed-cosine";
  recipe.grouping.groups = 2;
  recipe.aggregation.global = "none";
  return recipe;
}
inline std::vector<float> direction_of(std::uint32_t client) {
  std::vector<float> vector(6, 0);
  vector[client % 2] = static_cast<float>(client + 1);
  return vector;
}
inline ProfileReply tell_direction(const ProfileRequest&, ClientId client) {
  return ProfileReply{ClientProfile{.vector = direction_of(client.value), .samples_trained = 7}};
}

// The model that clients train from for their profiles.
inline std::vector<float> first_model(const Recipe& recipe, const Federation& federation) {
  std::vector<float> start(federation.network().size());
  Stream stream({.seed = recipe.seed, .purpose = Purpose::kInitialise, .part = federation.profile_kind().start_part()});
  federation.network().initialise(start, stream);
  return start;
}

// A round in which these clients took part, and moved by their directions.
struct SeenRound {
  SeenRound(const Federation& federation, const std::vector<std::uint32_t>& clients, bool keep_models,
            std::vector<float> from = std::vector<float>(6, 1))
      : start(std::move(from)), observed(federation.profile_kind(), federation.network(), 1, keep_models) {
    for (const std::uint32_t k : clients) send(k, direction_of(k));
  }
  void send(std::uint32_t client, const std::vector<float>& change) {
    GroupUpdate update;
    for (std::size_t i = 0; i < start.size(); ++i) update.model.push_back(start[i] + change[i]);
    update.members.push_back({.client = {client}, .samples = 1, .visits = 1});
    observed.member(update, start);
  }
  std::vector<float> start;
  ObservedRound observed;
};

}  // namespace muster
