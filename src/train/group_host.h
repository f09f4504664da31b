// GroupHost: where the groups of a round train — threads of this process here; other processes or edge servers later.
#pragma once

#include <functional>
#include <memory>
#include <span>

#include "train/group_trainer.h"
#include "train/worker_pool.h"

namespace muster {

// Work that is neither this round's nor urgent, in pieces: what the threads do that would only wait for the last
// groups.
struct Meanwhile {
  std::uint32_t pieces = 0;
  std::function<Status(std::uint32_t worker, std::uint32_t piece)> work;  // as in WorkerPool::run
};

class GroupHost {
 public:
  virtual ~GroupHost() = default;

  // Trains all groups and hands each update to `accept` once, in the order of `tasks`, never two at a time. The
  // update may be modified, and its memory is reused afterwards. Only a few updates are alive at any time.
  // `member`, if given, sees the update of each member before they are merged, in the same order; only divisible
  // trainers have any. `meanwhile` is all done too when this returns; its pieces begin when no group is left to begin.
  [[nodiscard]] virtual Status run(std::span<const GroupTask> tasks, const GroupTrainer& trainer,
                                   const std::function<void(GroupUpdate&)>& accept,
                                   const std::function<void(const GroupUpdate&)>& member = {},
                                   const Meanwhile& meanwhile = {}) = 0;
};

// One link per worker of the pool; both are borrowed.
[[nodiscard]] std::unique_ptr<GroupHost> make_thread_host(WorkerPool& pool,
                                                          std::span<const std::unique_ptr<ClientLink>> links);

}  // namespace muster
