#include "train/thread_host.h"

#include <utility>

#include "base/check.h"
#include "train/group_pieces.h"

namespace muster {

ThreadHost::ThreadHost(WorkerPool& pool, std::span<const std::unique_ptr<ClientLink>> links,
                       const GroupTrainer& trainer)
    : pool_(pool), links_(links), trainer_(trainer) {
  MUSTER_CHECK(links.size() == pool.threads(), "{} links, {} threads", links.size(), pool.threads());
}

Status ThreadHost::run(const RoundCall& call, std::span<const GroupTask> tasks, const UpdateSink& sink) {
  GroupPieces cut(call, tasks, trainer_, sink, combined_);
  const std::span<const GroupTask> pieces = cut.pieces();
  const auto train = [&](std::uint32_t worker, std::uint32_t i) -> Result<GroupUpdate> {
    GroupUpdate reuse;
    {
      const std::lock_guard lock(spare_mutex_);
      if (!spare_.empty()) {
        reuse = std::move(spare_.back());
        spare_.pop_back();
      }
    }
    return trainer_.train(call, pieces[i], *links_[worker], std::move(reuse));
  };
  const auto accept_and_keep = [&](std::uint32_t, GroupUpdate& update) {
    cut.accept(update);
    const std::lock_guard lock(spare_mutex_);
    spare_.push_back(std::move(update));
  };
  return in_order<GroupUpdate>(pool_, static_cast<std::uint32_t>(pieces.size()), train, accept_and_keep,
                               std::exchange(meanwhile_, {}));
}

}  // namespace muster
