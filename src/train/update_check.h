// What is wrong with an update that came from somewhere else, if anything. Whoever passes may be indexed with,
// accumulated and recorded without further checks.
#pragma once

#include <optional>

#include "clients/roster.h"
#include "model/network.h"
#include "train/group_task.h"

namespace muster {

// `members`: who may have contributed. Fine are: the right group; reports of members only, each once, with the samples
// they told when they joined, if they did, and finite losses; drops of members only, each once, of none that contributed; nobody
// unaccounted for; and a model and payload of the right size and finite if anybody contributed. `payload`: the size
// where there is one. Models that stay with their clients (`own_models`) do not travel.
[[nodiscard]] std::optional<DropReason> fault_of(const GroupUpdate& update, GroupId group,
                                                 std::span<const ClientId> members, const Roster& roster,
                                                 const Network& network, bool own_models = false);

// The update instead: nobody contributed, and every member dropped for `reason`.
void drop_all(GroupId group, std::span<const ClientId> members, DropReason reason, GroupUpdate& update);

}  // namespace muster
