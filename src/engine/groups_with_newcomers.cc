// Clients that come when the groups are there already, or missed their forming, join one.
#include <algorithm>

#include "engine/groups.h"

namespace muster {

std::vector<ClientId> Groups::without_group(std::span<const ClientId> clients) const {
  const std::vector<GroupId> group_of = groups_of_clients(grouping_, federation_.roster().clients());
  std::vector<ClientId> waiting;
  for (const ClientId client : clients) {
    if (group_of[client.value] == kNoGroup) waiting.push_back(client);
  }
  return waiting;
}

Result<GroupsFormed> Groups::place(std::uint32_t round, std::span<const ClientId> waiting, const Models& models) {
  GroupsFormed formed;
  if (waiting.empty() || grouping_.count() == 0) return formed;
  std::vector<ClientId> answered(waiting.begin(), waiting.end());
  std::vector<Placement> placements;
  if (grouping_.count() == 1) {
    placements.assign(answered.size(), Placement{});  // there is nothing to choose from
  } else {
    Rows<float> told;
    const NewcomerAsks asks = rule_->entry().asks;
    if (asks != NewcomerAsks::kNothing) {
      // Losses are asked of the models as they are; profiles from where, and at the rate at which, the others' were.
      std::vector<float> given;
      if (asks == NewcomerAsks::kLosses) {
        for (std::uint32_t g = 0; g < grouping_.count(); ++g) {
          const std::span<const float> model = models.of({g});
          given.insert(given.end(), model.begin(), model.end());
        }
      } else {
        given = means_start_.empty() ? profile_start() : means_start_;
      }
      MUSTER_ASSIGN(const ClientProfiles profiles, ask({.clients = waiting,
                                                        .round = round,
                                                        .as_of_round = formed_for_,
                                                        .losses = asks == NewcomerAsks::kLosses,
                                                        .models = {given, federation_.network().size()}},
                                                       formed));
      answered.clear();
      told.width = profiles.vectors.width;
      for (std::uint32_t i = 0; i < waiting.size(); ++i) {
        if (std::ranges::binary_search(profiles.missing, i)) continue;
        answered.push_back(waiting[i]);
        const std::span<const float> row = profiles.vectors.row(i);
        told.values.insert(told.values.end(), row.begin(), row.end());
      }
    }
    MUSTER_ASSIGN(placements, rule_->place({.grouping = grouping_, .means = means_}, answered, told));
  }
  if (answered.empty()) return formed;

  std::vector<PlacedClient> placed;
  std::vector<std::vector<ClientId>> joining(grouping_.count());
  for (std::size_t i = 0; i < answered.size(); ++i) {
    joining[placements[i].group].push_back(answered[i]);
    placed.push_back({answered[i], placements[i]});
  }
  Grouping grown;
  for (std::uint32_t g = 0; g < grouping_.count(); ++g) {
    const std::span<const ClientId> members = grouping_.members({g});
    std::vector<ClientId> all(members.begin(), members.end());
    all.insert(all.end(), joining[g].begin(), joining[g].end());
    std::ranges::sort(all);
    grown.add(all);
  }
  take(std::move(grown));
  formed.line = newcomers_line(round, rule_->entry().name, placed);
  return formed;
}

}  // namespace muster
