// RoundObserver: whatever watches a round go by: adaptive epochs, losses, discrepancy, tallies, cost. Each has its own
// file, its own section of a checkpoint and its own test; a program that uses Muster as a library may add its own.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "aggregate/aggregator.h"
#include "engine/models.h"
#include "record/checkpoint.h"
#include "record/run_record.h"
#include "train/group_task.h"

namespace muster {

// The groups of a round, before they are sent out.
struct RoundTasks {
  std::uint32_t round = 0;
  std::vector<GroupTask> tasks;
  std::vector<std::vector<double>> epochs;  // of each task's members, where an observer sets them
};

// Called by one thread, in this order: prepare, then for each group its members' updates (if anybody wants them) and
// its own, in the order of the tasks, then end. Ids and sizes have been checked.
class RoundObserver {
 public:
  virtual ~RoundObserver() = default;

  // Whether member() is to be called in this round. A run with secure sums, which hide what a member sends, is refused.
  [[nodiscard]] virtual bool wants_members(std::uint32_t /*round*/) const { return false; }
  // Whether members are to report their loss after training.
  [[nodiscard]] virtual bool wants_losses(std::uint32_t /*round*/) const { return false; }

  virtual void prepare(RoundTasks& /*tasks*/) {}
  // What a member sent, and the model that it started from; where members of a group do not train apart, what the group
  // sent. `update.members` is empty if it dropped.
  virtual void member(const GroupUpdate& /*update*/, std::span<const float> /*start*/) {}
  virtual void group(const GroupUpdate& /*update*/) {}
  // All groups have answered, and the models are merged.
  virtual void end(const Models& /*models*/, RoundRecord& /*record*/) {}

  virtual void save(Checkpoint& /*checkpoint*/) const {}
  [[nodiscard]] virtual Status restore(const Checkpoint& /*checkpoint*/) { return {}; }
};

}  // namespace muster
