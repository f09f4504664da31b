// Groups on the threads of this process. Updates are accepted in task order, whatever order they finish in; a worker
// does not begin a task too far ahead of the one awaited, which bounds the number of models in memory.
#include <algorithm>
#include <mutex>
#include <optional>
#include <vector>

#include "base/check.h"
#include "train/group_host.h"

namespace muster {
namespace {

class ThreadHost final : public GroupHost {
 public:
  ThreadHost(WorkerPool& pool, std::span<const std::unique_ptr<ClientLink>> links) : pool_(pool), links_(links) {
    MUSTER_CHECK(links.size() == pool.threads(), "{} links, {} threads", links.size(), pool.threads());
  }

  Status run(std::span<const GroupTask> tasks, const GroupTrainer& trainer,
             const std::function<void(GroupUpdate&)>& accept, const std::function<void(const GroupUpdate&)>& member,
             const Meanwhile& meanwhile) override {
    MUSTER_CHECK(!member || trainer.divisible(), "members of this mode do not train apart");
    const bool several =
        std::any_of(tasks.begin(), tasks.end(), [](const auto& task) { return task.members.size() > 1; });
    if (!trainer.divisible() || !several) {
      const auto accept_whole = [&](GroupUpdate& update) {
        if (member) member(update);
        accept(update);
      };
      return run_whole(tasks, trainer, accept_whole, meanwhile);
    }
    // Members apart, so that few large groups keep all threads busy.
    std::vector<GroupTask> apart;
    for (const GroupTask& task : tasks) {
      MUSTER_CHECK(!task.members.empty(), "group {} takes part without a member", task.group.value);
      for (std::size_t i = 0; i < task.members.size(); ++i) {
        apart.push_back(task);
        apart.back().members = task.members.subspan(i, 1);
        if (!task.epochs.empty()) apart.back().epochs = task.epochs.subspan(i, 1);
      }
    }
    std::size_t group = 0;
    std::size_t seen = 0;
    const auto accept_apart = [&](GroupUpdate& update) {
      if (member) member(update);
      if (seen == 0) combined_.begin(tasks[group].group, tasks[group].model.size());
      combined_.add(trainer, update);
      if (++seen < tasks[group].members.size()) return;
      accept(combined_.finish());
      ++group;
      seen = 0;
    };
    return run_whole(apart, trainer, accept_apart, meanwhile);
  }

 private:
  Status run_whole(std::span<const GroupTask> tasks, const GroupTrainer& trainer,
                   const std::function<void(GroupUpdate&)>& accept, const Meanwhile& meanwhile) {
    const auto count = static_cast<std::uint32_t>(tasks.size());
    const std::size_t window = 2 * std::size_t{pool_.threads()} + 2;
    std::mutex mutex;
    std::condition_variable advanced;
    std::vector<std::optional<GroupUpdate>> finished(tasks.size());
    std::size_t awaited = 0;
    bool failed = false;
    return pool_.run(count + meanwhile.pieces, [&](std::uint32_t worker, std::uint32_t i) -> Status {
      if (i >= count) return meanwhile.work(worker, i - count);
      GroupUpdate reuse;
      {
        std::unique_lock lock(mutex);
        advanced.wait(lock, [&] { return failed || i < awaited + window; });
        if (failed) return {};
        if (!spare_.empty()) {
          reuse = std::move(spare_.back());
          spare_.pop_back();
        }
      }
      Result<GroupUpdate> update = trainer.train(tasks[i], *links_[worker], std::move(reuse));
      const std::lock_guard lock(mutex);
      if (!update) {
        failed = true;
        advanced.notify_all();
        return std::move(update).error();
      }
      finished[i] = std::move(update).value();
      while (awaited < tasks.size() && finished[awaited]) {
        accept(*finished[awaited]);
        spare_.push_back(std::move(*finished[awaited]));
        finished[awaited].reset();
        ++awaited;
      }
      advanced.notify_all();
      return {};
    });
  }

  WorkerPool& pool_;
  std::span<const std::unique_ptr<ClientLink>> links_;
  std::vector<GroupUpdate> spare_;  // touched only while run_whole() holds its mutex
  CombinedUpdate combined_;         // likewise
};

}  // namespace

std::unique_ptr<GroupHost> make_thread_host(WorkerPool& pool, std::span<const std::unique_ptr<ClientLink>> links) {
  return std::make_unique<ThreadHost>(pool, links);
}

}  // namespace muster
