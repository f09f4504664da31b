#include "train/worker_pool.h"

#include <algorithm>
#include <atomic>
#include <optional>

#include "base/check.h"

namespace muster {

struct WorkerPool::Job {
  std::uint32_t tasks;
  const std::function<Status(std::uint32_t, std::uint32_t)>& work;
  std::atomic<std::uint32_t> next{0};
  std::atomic<bool> failed{false};
  std::mutex mutex;
  std::uint32_t failed_task = 0;  // guarded by mutex
  std::optional<Error> error;     // guarded by mutex
};

WorkerPool::WorkerPool(std::uint32_t threads, SpareCores* spare) : threads_(threads), spare_(spare) {
  MUSTER_CHECK(threads >= 1, "{} threads", threads);
}

WorkerPool::~WorkerPool() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  for (std::thread& helper : helpers_) helper.join();
}

void WorkerPool::work_through(Job& job, std::uint32_t worker) {
  while (!job.failed.load(std::memory_order_relaxed)) {
    const std::uint32_t task = job.next.fetch_add(1, std::memory_order_relaxed);
    if (task >= job.tasks) return;
    if (Status status = job.work(worker, task); !status) {
      const std::lock_guard lock(job.mutex);
      if (!job.error || task < job.failed_task) {
        job.error = std::move(status).error();
        job.failed_task = task;
      }
      job.failed = true;
    }
  }
}

void WorkerPool::serve(std::uint32_t worker) {
  std::uint64_t seen = 0;
  std::unique_lock lock(mutex_);
  while (true) {
    // Whom a job is not for sleeps through it; whom it is for is waited for.
    changed_.wait(lock, [&] { return stop_ || (generation_ != seen && worker <= wanted_); });
    if (stop_) return;
    const bool first = seen == 0;
    seen = generation_;
    Job* const job = job_;
    lock.unlock();
    if (first && first_) first_(worker);
    work_through(*job, worker);
    lock.lock();
    if (--busy_ == 0) changed_.notify_all();
  }
}

// The caller of run() is worker 0.
void WorkerPool::wake(std::uint32_t helpers, Job& job) {
  while (helpers_.size() < helpers) {
    const auto worker = static_cast<std::uint32_t>(helpers_.size()) + 1;
    helpers_.emplace_back([this, worker] { serve(worker); });
  }
  {
    const std::lock_guard lock(mutex_);
    job_ = &job;
    wanted_ = busy_ = helpers;
    ++generation_;
  }
  changed_.notify_all();
}

Status WorkerPool::run(std::uint32_t tasks,
                       const std::function<Status(std::uint32_t worker, std::uint32_t task)>& work) {
  Job job{.tasks = tasks, .work = work};
  const std::uint32_t most = tasks > 1 ? threads_ - 1 : 0;
  const std::uint32_t helpers = spare_ ? spare_->borrow(std::min(most, tasks - 1)) : most;
  workers_ = helpers + 1;
  if (helpers > 0) wake(helpers, job);
  work_through(job, 0);
  if (helpers > 0) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return busy_ == 0; });
    job_ = nullptr;
  }
  if (spare_) spare_->give_back(helpers);
  if (job.error) return std::move(*job.error);
  return {};
}

}  // namespace muster
