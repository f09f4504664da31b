// What tests of models send them: groups of one client, and their updates.
#pragma once

#include <utility>
#include <vector>

#include "engine/models.h"

namespace muster {

inline Grouping groups_of_one(std::uint32_t count) {
  Grouping grouping;
  for (std::uint32_t k = 0; k < count; ++k) {
    const ClientId client{k};
    grouping.add({&client, 1});
  }
  return grouping;
}

// Of the group of the client with its number.
inline GroupUpdate update_of(std::uint32_t group, std::vector<float> model, std::uint64_t samples = 1) {
  GroupUpdate update{.group = {group}, .model = std::move(model), .samples = samples};
  update.members.push_back({.client = {group}, .samples = static_cast<std::uint32_t>(samples), .visits = 1});
  return update;
}

}  // namespace muster
