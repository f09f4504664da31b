// Work that several threads do, and whose results are accepted in order, whatever order they finish in. A worker does
// not begin a task too far ahead of the one awaited, which bounds the number of results in memory.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

#include "train/worker_pool.h"

namespace muster {

// Work that is not urgent, in pieces: what the threads do that would only wait for the last tasks.
struct Meanwhile {
  std::uint32_t pieces = 0;
  std::function<Status(std::uint32_t worker, std::uint32_t piece)> work;  // as in WorkerPool::run
};

// Calls make(worker, i) -> Result<T> for every i in [0, count) and accept(i, T&) in ascending order, never two at a
// time. After a failure nothing more is accepted. `meanwhile` is all done too when this returns without an error.
template <typename T, typename Make, typename Accept>
[[nodiscard]] Status in_order(WorkerPool& pool, std::uint32_t count, const Make& make, const Accept& accept,
                              const Meanwhile& meanwhile = {}) {
  const std::size_t window = 2 * std::size_t{pool.threads()} + 2;
  std::mutex mutex;
  std::condition_variable advanced;
  std::vector<std::optional<T>> finished(count);
  std::uint32_t awaited = 0;
  bool failed = false;
  return pool.run(count + meanwhile.pieces, [&](std::uint32_t worker, std::uint32_t i) -> Status {
    if (i >= count) return meanwhile.work(worker, i - count);
    {
      std::unique_lock lock(mutex);
      advanced.wait(lock, [&] { return failed || i < awaited + window; });
      if (failed) return {};
    }
    Result<T> made = make(worker, i);
    const std::lock_guard lock(mutex);
    if (!made) {
      failed = true;
      advanced.notify_all();
      return std::move(made).error();
    }
    finished[i] = std::move(made).value();
    while (awaited < count && finished[awaited] && !failed) {
      accept(awaited, *finished[awaited]);
      finished[awaited].reset();
      ++awaited;
    }
    advanced.notify_all();
    return {};
  });
}

}  // namespace muster
