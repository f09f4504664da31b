#include "train/thread_host.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace muster {

ThreadHost::ThreadHost(WorkerPool& pool, std::span<const std::unique_ptr<ClientLink>> links,
                       const GroupTrainer& trainer)
    : pool_(pool), links_(links), trainer_(trainer) {
  MUSTER_CHECK(links.size() == pool.threads(), "{} links, {} threads", links.size(), pool.threads());
}

Status ThreadHost::run(const RoundCall& call, std::span<const GroupTask> tasks, const UpdateSink& sink) {
  const bool several =
      std::any_of(tasks.begin(), tasks.end(), [](const GroupTask& task) { return task.members.size() > 1; });
  if (!trainer_.divisible() || !several) {
    std::size_t next = 0;
    return run_whole(call, tasks, [&](GroupUpdate& update) {
      const GroupTask& task = tasks[next++];
      if (sink.member) sink.member(update, call.models[task.model]);
      sink.group(update);
    });
  }
  // Members apart, so that few large groups keep all threads busy.
  std::vector<GroupTask> apart;
  for (const GroupTask& task : tasks) {
    for (std::size_t i = 0; i < task.members.size(); ++i) {
      apart.push_back(task);
      apart.back().members = task.members.subspan(i, 1);
      if (!task.epochs.empty()) apart.back().epochs = task.epochs.subspan(i, 1);
    }
  }
  std::size_t group = 0;
  std::size_t seen = 0;
  return run_whole(call, apart, [&](GroupUpdate& update) {
    const GroupTask& task = tasks[group];
    const std::span<const float> start = call.models[task.model];
    if (sink.member) sink.member(update, start);
    if (seen == 0) combined_.begin(task.group, start.size());
    combined_.add(trainer_, update);
    if (++seen < task.members.size()) return;
    sink.group(combined_.finish());
    ++group;
    seen = 0;
  });
}

Status ThreadHost::run_whole(const RoundCall& call, std::span<const GroupTask> tasks,
                             const std::function<void(GroupUpdate&)>& accept) {
  const auto train = [&](std::uint32_t worker, std::uint32_t i) -> Result<GroupUpdate> {
    GroupUpdate reuse;
    {
      const std::lock_guard lock(spare_mutex_);
      if (!spare_.empty()) {
        reuse = std::move(spare_.back());
        spare_.pop_back();
      }
    }
    return trainer_.train(call, tasks[i], *links_[worker], std::move(reuse));
  };
  const auto accept_and_keep = [&](std::uint32_t, GroupUpdate& update) {
    accept(update);
    const std::lock_guard lock(spare_mutex_);
    spare_.push_back(std::move(update));
  };
  return in_order<GroupUpdate>(pool_, static_cast<std::uint32_t>(tasks.size()), train, accept_and_keep,
                               std::exchange(meanwhile_, {}));
}

}  // namespace muster
