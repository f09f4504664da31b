// Whether what a client sent can be used: it may send anything.
#pragma once

#include <optional>
#include <span>

#include "clients/dropped.h"
#include "train/client_link.h"

namespace muster {

// Why a reply to `task` cannot be used, if it cannot. `payload`: what members sent so far, which must be of one size.
[[nodiscard]] std::optional<DropReason> fault_in(const TrainReply& reply, const TrainTask& task,
                                                 std::span<const float> payload);

}  // namespace muster
