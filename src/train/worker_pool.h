// WorkerPool: a fixed set of threads that work through numbered tasks. Tasks are begun in ascending order; which worker
// takes which is not defined, so results must not depend on it.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "base/result.h"

namespace muster {

class WorkerPool {
 public:
  // `threads` >= 1. With one thread the caller does the work itself.
  explicit WorkerPool(std::uint32_t threads);
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  [[nodiscard]] std::uint32_t threads() const { return threads_; }

  // Calls work(worker, task) for every task in [0, tasks) and waits for all. After a failure no further task is begun;
  // of several failures that of the lowest task is returned.
  [[nodiscard]] Status run(std::uint32_t tasks,
                           const std::function<Status(std::uint32_t worker, std::uint32_t task)>& work);

 private:
  struct Job;
  static void work_through(Job& job, std::uint32_t worker);
  void serve(std::uint32_t worker);

  std::uint32_t threads_;
  std::mutex mutex_;
  std::condition_variable changed_;
  Job* job_ = nullptr;            // guarded by mutex_
  std::uint64_t generation_ = 0;  // guarded by mutex_
  std::uint32_t busy_ = 0;        // guarded by mutex_
  bool stop_ = false;             // guarded by mutex_
  std::vector<std::thread> helpers_;
};

}  // namespace muster
