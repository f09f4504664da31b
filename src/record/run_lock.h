// RunLock: only one process at a time writes to a run's folder. The lock belongs to the process, not to the file that
// it is taken on: when a process ends, however it ends, its lock is gone, and a file left behind by a kill locks nobody
// out. Readers need no lock.
#pragma once

#include <filesystem>

#include "base/result.h"

namespace muster {

class RunLock {
 public:
  // Holds nothing.
  RunLock() = default;
  // Fails, naming the process and the host that hold it, if another process has the folder locked. On a file system
  // that knows no locks it succeeds and protects nothing.
  [[nodiscard]] static Result<RunLock> take(const std::filesystem::path& folder);
  ~RunLock();
  RunLock(RunLock&& other) noexcept;
  RunLock& operator=(RunLock&& other) noexcept;

 private:
  RunLock(std::filesystem::path file, int descriptor) : file_(std::move(file)), descriptor_(descriptor) {}
  void release();

  std::filesystem::path file_;
  int descriptor_ = -1;
};

}  // namespace muster
