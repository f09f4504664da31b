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
  struct GroupMembers {
    std::span<const Memory> memories;
    // Where they are summed securely: which try it is, and their names; none: they are known by their numbers.
    std::uint64_t attempt = 0;
    std::span<const std::string> names = {};
  };
  [[nodiscard]] virtual Result<GroupAnswer> train_group(const RoundCall& call, const GroupTask& task,
                                                        const GroupMembers& members,
                                                        std::chrono::milliseconds within) = 0;
  // One phase of a secure sum. In phase input the client trains first, as by train(). By default nobody takes part.
  [[nodiscard]] virtual Result<SummedAnswer> sum(SumPhase /*phase*/, SumAsk ask, GroupId /*group*/,
                                                 const Memory& /*memory*/, std::chrono::milliseconds /*within*/) {
    return SummedAnswer{Dropped{ask.task.client, DropReason::kMalformed}};
  }
  // Of chains whose models travel sealed: the member's key; and its visit, for which task.model is what came, sealed or
  // not. A member may refuse both, and does unless it knows better.
  [[nodiscard]] virtual Result<ChainKeyReply> chain_key(ClientId client, std::uint32_t /*round*/, GroupId /*group*/,
                                                        std::chrono::milliseconds /*within*/) {
    return ChainKeyReply{Dropped{client, DropReason::kMalformed}};
  }
  [[nodiscard]] virtual Result<TrainAnswer> train_in_chain(const TrainTask& task, GroupId /*group*/,
                                                           const Memory& /*memory*/, const ChainVisit& /*visit*/,
                                                           std::chrono::milliseconds /*within*/) {
    return TrainAnswer{Dropped{task.client, DropReason::kMalformed}};
  }
  // Training that goes on, of one client or of a whole group, is not waited for any more. Must not wait.
  virtual void withdraw(std::uint32_t /*round*/, GroupId /*group*/, std::optional<ClientId> /*client*/) {}
};

}  // namespace muster
