// BackgroundProcess: another program beside this one, what it says in a file. It is ended with the object, politely
// first, and dies with this process.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace muster {

class BackgroundProcess {
 public:
  // `words`: the program's path and its arguments. stdout and stderr go to `log`.
  [[nodiscard]] static Result<BackgroundProcess> start(std::vector<std::string> words,
                                                       const std::filesystem::path& log);
  ~BackgroundProcess();
  BackgroundProcess(BackgroundProcess&& other) noexcept : process_(std::exchange(other.process_, -1)) {}
  BackgroundProcess& operator=(BackgroundProcess&& other) noexcept {
    std::swap(process_, other.process_);
    return *this;
  }

  // Its exit status (128 + a signal), once it has ended; waits for it at most so long.
  [[nodiscard]] std::optional<int> wait(double patience_s);
  // The process's number, for signals; -1 once it has ended.
  [[nodiscard]] int id() const { return process_; }

 private:
  explicit BackgroundProcess(int process) : process_(process) {}
  int process_ = -1;
};

}  // namespace muster
