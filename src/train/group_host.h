// GroupHost: where the members of groups train together: threads of this process, a rank, an edge server. It has the
// GroupTrainer of the recipe, which every process has; what travels is a RoundCall, GroupTasks and GroupUpdates.
#pragma once

#include "base/result.h"
#include "train/group_task.h"

namespace muster {

class GroupHost {
 public:
  virtual ~GroupHost() = default;

  // Trains all groups and answers each once, as UpdateSink says. Only a few updates are alive at any time.
  [[nodiscard]] virtual Status run(const RoundCall& call, std::span<const GroupTask> tasks, const UpdateSink& sink) = 0;
};

}  // namespace muster
