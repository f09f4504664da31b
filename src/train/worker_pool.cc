#include "train/worker_pool.h"

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

WorkerPool::WorkerPool(std::uint32_t threads) : threads_(threads) {
  MUSTER_CHECK(threads >= 1, "{} threads", threads);
  // The caller of run() is worker 0.
  for (std::uint32_t worker = 1; worker < threads; ++worker) helpers_.emplace_back([this, worker] { serve(worker); });
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
    changed_.wait(lock, [&] { return stop_ || generation_ != seen; });
    if (stop_) return;
    seen = generation_;
    Job* const job = job_;
    lock.unlock();
    work_through(*job, worker);
    lock.lock();
    if (--busy_ == 0) changed_.notify_all();
  }
}

Status WorkerPool::run(std::uint32_t tasks,
                       const std::function<Status(std::uint32_t worker, std::uint32_t task)>& work) {
  Job job{.tasks = tasks, .work = work};
  const bool shared = threads_ > 1 && tasks > 1;
  if (shared) {
    {
      const std::lock_guard lock(mutex_);
      job_ = &job;
      busy_ = threads_ - 1;
      ++generation_;
    }
    changed_.notify_all();
  }
  work_through(job, 0);
  if (shared) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return busy_ == 0; });
    job_ = nullptr;
  }
  if (job.error) return std::move(*job.error);
  return {};
}

}  // namespace muster
