// Workplace: whoever does what is asked through a channel: a client with its data, or an edge that passes it on to its
// own clients. Knows nothing of channels and messages.
#pragma once

#include <chrono>
#include <span>

#include "wire/wire_values.h"

namespace muster {

// Thread-safe: asks for different clients come together, those for one client may too. An error means that the
// workplace itself broke; a client that cannot answer is Dropped.
class Workplace {
 public:
  virtual ~Workplace() = default;

  // `within`: how long the asker waits.
  [[nodiscard]] virtual Result<TrainAnswer> train(const TrainTask& task, GroupId group, const Memory& memory,
                                                  std::chrono::milliseconds within) = 0;
  [[nodiscard]] virtual Result<ProfileReply> profile(const ProfileTask& task, const std::optional<Memory>& memory,
                                                     std::chrono::milliseconds within) = 0;
  [[nodiscard]] virtual Result<EvaluateReply> evaluate(const EvaluateTask& task, const std::optional<Memory>& memory,
                                                       std::chrono::milliseconds within) = 0;
  // Of edges: a whole group, each member with its memory.
  [[nodiscard]] virtual Result<GroupAnswer> train_group(const RoundCall& call, const GroupTask& task,
                                                        std::span<const Memory> memories,
                                                        std::chrono::milliseconds within) = 0;
  // Training that goes on, of one client or of a whole group, is not waited for any more. Must not wait.
  virtual void withdraw(std::uint32_t /*round*/, GroupId /*group*/, std::optional<ClientId> /*client*/) {}
};

}  // namespace muster
