// The workplace of an edge: what the cloud asks of its clients it asks them, and groups whose members are all here it
// hosts itself.
#pragma once

#include <memory>

#include "wire/group_link.h"
#include "wire/workplace.h"

namespace muster {

// `clients` is borrowed; `trainer` is the recipe's. `verifier`: of the members of secure sums.
[[nodiscard]] std::shared_ptr<Workplace> make_relay(RemoteClients& clients, std::unique_ptr<GroupTrainer> trainer,
                                                    std::shared_ptr<const MemberVerifier> verifier);

}  // namespace muster
