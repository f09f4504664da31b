// SealedChain: how the host of a chain has a model walk along it that it cannot read itself. Only links over a network
// have one: in a process that has all clients there is nobody to hide models from, and chains are walked openly.
#pragma once

#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "secure/sealed_relay.h"
#include "solver/local_task.h"

namespace muster {

struct SealedVisit {
  TrainTask task;                     // its model: what the chain begins with, which counts where `from` is null
  const SealedModel* from = nullptr;  // what an earlier member sealed
  std::span<const ClientId> readers;  // later members; none: it answers openly
};

// One of the two has the model.
struct SealedUpdate {
  LocalUpdate update;
  std::optional<SealedModel> sealed;
};
using SealedReply = std::variant<SealedUpdate, Dropped>;

// Of one chain; used by one thread. Answers are checked: a model is of the size of the task's, and finite where it is
// open.
class SealedChain {
 public:
  virtual ~SealedChain() = default;

  // Asks all for their keys. Who has none, and why; in the order of the members.
  [[nodiscard]] virtual Result<std::vector<Dropped>> begin(std::uint32_t round, std::span<const ClientId> members) = 0;
  // Precondition: all who are named have a key.
  [[nodiscard]] virtual Result<SealedReply> visit(const SealedVisit& visit) = 0;
  // Has the sender open a model that nobody could go on from. `task`: that of its visit.
  [[nodiscard]] virtual Result<TrainReply> open(const TrainTask& task, const SealedModel& sealed) = 0;
};

}  // namespace muster
