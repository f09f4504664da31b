// Grouping: who trains together. Groups are ordered lists of clients; clients in no group are idle and listed, never
// lost.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/ids.h"

namespace muster {

class Grouping {
 public:
  // Appends a group; its id is its position.
  void add(std::span<const ClientId> members) {
    members_.insert(members_.end(), members.begin(), members.end());
    ends_.push_back(static_cast<std::uint32_t>(members_.size()));
  }
  void add_idle(ClientId client) { idle_.push_back(client); }

  [[nodiscard]] std::uint32_t count() const { return static_cast<std::uint32_t>(ends_.size()); }
  [[nodiscard]] std::span<const ClientId> members(GroupId group) const {
    const std::uint32_t begin = group.value == 0 ? 0 : ends_[group.value - 1];
    return std::span(members_).subspan(begin, ends_[group.value] - begin);
  }
  [[nodiscard]] std::span<const ClientId> idle() const { return idle_; }

 private:
  std::vector<ClientId> members_;  // group after group: with ends_ 8 bytes a client at most
  std::vector<std::uint32_t> ends_;
  std::vector<ClientId> idle_;
};

// The [grouping] section of a recipe.
struct GroupingOptions {
  std::string method = "singletons";
};

// What a grouping method may look at: how many training samples each client has.
struct GroupingInput {
  std::span<const std::uint32_t> samples;
};

// Every client alone; clients without samples are idle.
[[nodiscard]] Grouping group_singletons(const GroupingInput& input);

}  // namespace muster
