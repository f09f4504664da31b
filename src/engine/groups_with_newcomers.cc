// Clients that come when the groups are there already, or missed their forming, join one.
#include <algorithm>
#include <cmath>

#include "engine/groups.h"

namespace muster {
namespace {

Rows<float> all_models(const Models& models) {
  Rows<float> all;
  for (std::uint32_t g = 0; g < models.count(); ++g) {
    const std::span<const float> model = models.of({g});
    all.width = model.size();
    all.values.insert(all.values.end(), model.begin(), model.end());
  }
  return all;
}

}  // namespace

std::vector<ClientId> Groups::to_place(std::span<const ClientId> clients) const {
  if (rejoins_ && !waits_) return {clients.begin(), clients.end()};
  const std::vector<GroupId> group_of = groups_of_clients(grouping_, federation_.roster().clients());
  std::vector<ClientId> waiting;
  for (const ClientId client : clients) {
    if (group_of[client.value] == kNoGroup) waiting.push_back(client);
  }
  return waiting;
}

Result<Rows<float>> Groups::hear(std::uint32_t round, std::vector<ClientId>& waiting, const Models& models,
                                 GroupsFormed& formed) {
  Rows<float> told;
  const NewcomerAsks asks = rule_->entry().asks;
  if (asks == NewcomerAsks::kNothing) return told;
  if (asks == NewcomerAsks::kSent) {
    told = Rows<float>(static_cast<std::uint32_t>(waiting.size()), sent_->width());
    for (std::uint32_t i = 0; i < waiting.size(); ++i) MUSTER_TRY(sent_->last_of(waiting[i], told.row(i)));
    return told;
  }
  // Losses are asked of the models as they are; profiles from where, and at the rate at which, the others' were.
  const bool losses = asks == NewcomerAsks::kLosses;
  std::vector<float> given;
  if (losses) {
    given = all_models(models).values;
  } else {
    given = means_start_.empty() ? profile_start() : means_start_;
  }
  const std::size_t size = federation_.network().size();
  MUSTER_ASSIGN(
      const ClientProfiles profiles,
      ask({.clients = waiting, .round = round, .as_of_round = formed_for_, .losses = losses, .models = {given, size}},
          formed));
  std::vector<ClientId> answered;
  told.width = profiles.vectors.width;
  for (std::uint32_t i = 0; i < waiting.size(); ++i) {
    if (std::ranges::binary_search(profiles.missing, i)) continue;
    answered.push_back(waiting[i]);
    const std::span<const float> row = profiles.vectors.row(i);
    told.values.insert(told.values.end(), row.begin(), row.end());
  }
  waiting = std::move(answered);
  // Who has been sent all models need not be sent the one that it trains: the round's training is charged for that.
  if (losses && rejoins_) formed.bytes_down -= waiting.size() * size * sizeof(float);
  return told;
}

Result<GroupsFormed> Groups::place(std::uint32_t round, std::span<const ClientId> waiting, const Models& models) {
  GroupsFormed formed;
  if (waiting.empty() || grouping_.count() == 0) return formed;
  std::vector<ClientId> placed_clients(waiting.begin(), waiting.end());
  std::vector<Placement> placements;
  if (grouping_.count() == 1) {
    placements.assign(waiting.size(), Placement{});  // there is nothing to choose from
  } else {
    MUSTER_ASSIGN(const Rows<float> told, hear(round, placed_clients, models, formed));
    const Rows<float> compared = rule_->entry().asks == NewcomerAsks::kSent ? all_models(models) : Rows<float>();
    MUSTER_ASSIGN(placements,
                  rule_->place({.grouping = grouping_, .means = sent_ ? compared : means_}, placed_clients, told));
  }
  if (placed_clients.empty()) return formed;

  std::vector<GroupId> group_of = groups_of_clients(grouping_, federation_.roster().clients());
  std::vector<PlacedClient> placed;
  for (std::size_t i = 0; i < placed_clients.size(); ++i) {
    GroupId& group = group_of[placed_clients[i].value];
    // A client whom no model fits stays where it is.
    if (std::isinf(placements[i].dissimilarity) && group != kNoGroup) placements[i].group = group.value;
    group = {placements[i].group};
    placed.push_back({placed_clients[i], placements[i]});
  }
  std::vector<std::vector<ClientId>> members(grouping_.count());
  for (std::uint32_t k = 0; k < group_of.size(); ++k) {
    if (group_of[k] != kNoGroup) members[group_of[k].value].push_back({k});
  }
  Grouping next;
  for (const std::vector<ClientId>& group : members) next.add(group);
  take(std::move(next));
  formed.line = newcomers_line(round, rule_->entry().name, placed, rejoins_ ? truth() : std::nullopt);
  return formed;
}

}  // namespace muster
