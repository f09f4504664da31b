// GroupTask: one group's training in one round, as a plain value that can travel. RoundCall: what all groups of the
// round have in common. UpdateSink: who takes the answers.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "aggregate/aggregator.h"
#include "base/ids.h"

namespace muster {

// Spans are borrowed until the round is over.
struct RoundCall {
  std::uint32_t round = 0;
  std::vector<std::span<const float>> models;  // what groups start from, each once; a task names one by its place here
  std::span<const float> broadcast;            // what the objective is sent besides the model; may be empty
  bool own_models = false;                     // clients train and keep models of their own; nothing is merged
  bool measure = false;                        // members report their loss after training
  std::uint32_t enough_groups = 0;             // so many that contributed are enough, the others are not needed; 0: all
  std::size_t parameters = 0;                  // of a model's values, that are trained; running statistics follow them
};

struct GroupTask {
  GroupId group;
  std::uint32_t model = 0;            // place in RoundCall::models
  std::span<const ClientId> members;  // at least one, each once
  std::span<const double> epochs;     // of each member, instead of the recipe's; empty = the recipe's
  std::uint32_t enough = 0;           // so many members that contributed are enough; 0: all
};

// Answers come one at a time, in the order of the tasks.
struct UpdateSink {
  // Each group's update, once. It may be modified; its memory is reused afterwards.
  std::function<void(GroupUpdate&)> group;
  // If set: what each member of a group sent, before they are merged, and the model it started from. Only where
  // members of a group train apart from each other; where they do not, the group's own update.
  std::function<void(const GroupUpdate&, std::span<const float> start)> member;
};

}  // namespace muster
