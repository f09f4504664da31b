// WorkerPool: threads that work through numbered tasks. Tasks are begun in ascending order; which worker takes which,
// and how many there are, is not defined, so results must not depend on it.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "base/result.h"
#include "train/spare_cores.h"

namespace muster {

class WorkerPool {
 public:
  // `threads` >= 1. With one thread the caller does the work itself. With `spare` (borrowed, and begun) it is joined by
  // as many others as can be borrowed when a run() begins, up to `threads` with itself.
  explicit WorkerPool(std::uint32_t threads, SpareCores* spare = nullptr);
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  [[nodiscard]] std::uint32_t threads() const { return threads_; }
  // Of the last run(), with the caller; 1 before the first.
  [[nodiscard]] std::uint32_t workers() const { return workers_; }
  // Called by every worker but 0 before its first task, in its own thread.
  void set_first(std::function<void(std::uint32_t worker)> first) { first_ = std::move(first); }

  // Calls work(worker, task) for every task in [0, tasks) and waits for all. After a failure no further task is begun;
  // of several failures that of the lowest task is returned.
  [[nodiscard]] Status run(std::uint32_t tasks,
                           const std::function<Status(std::uint32_t worker, std::uint32_t task)>& work);

 private:
  struct Job;
  static void work_through(Job& job, std::uint32_t worker);
  void serve(std::uint32_t worker);
  void wake(std::uint32_t helpers, Job& job);

  std::uint32_t threads_;
  SpareCores* spare_;
  std::function<void(std::uint32_t)> first_;
  std::uint32_t workers_ = 1;
  std::mutex mutex_;
  std::condition_variable changed_;
  Job* job_ = nullptr;                // guarded by mutex_
  std::uint64_t generation_ = 0;      // guarded by mutex_
  std::uint32_t wanted_ = 0;          // helpers that the job is for, guarded by mutex_
  std::uint32_t busy_ = 0;            // guarded by mutex_
  bool stop_ = false;                 // guarded by mutex_
  std::vector<std::thread> helpers_;  // made when they are first wanted
};

}  // namespace muster
