// ThreadHost: groups on the threads of this process.
#pragma once

#include <memory>
#include <span>

#include "train/group_host.h"
#include "train/group_trainer.h"
#include "train/in_order.h"

namespace muster {

class ThreadHost final : public GroupHost {
 public:
  // One link per worker of the pool. All are borrowed.
  ThreadHost(WorkerPool& pool, std::span<const std::unique_ptr<ClientLink>> links, const GroupTrainer& trainer);

  Status run(const RoundCall& call, std::span<const GroupTask> tasks, const UpdateSink& sink) override;
  // What the next run() does besides, when no group is left to begin.
  void set_meanwhile(Meanwhile meanwhile) { meanwhile_ = std::move(meanwhile); }

 private:
  WorkerPool& pool_;
  std::span<const std::unique_ptr<ClientLink>> links_;
  const GroupTrainer& trainer_;
  Meanwhile meanwhile_;
  std::mutex spare_mutex_;
  std::vector<GroupUpdate> spare_;  // guarded by spare_mutex_
  CombinedUpdate combined_;
};

}  // namespace muster
