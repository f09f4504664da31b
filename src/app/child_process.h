// ChildProcess: another program that answers lines with lines. It is started without a shell, sees its
// stdin close when we end, and is killed with the object. If it hangs or ends, the call fails; no call waits for ever.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace muster {

class ChildProcess {
 public:
  // `words` are the program (a path, or a name to look up in PATH) and its arguments; `environment` is added to ours.
  // What it says on stderr is dropped.
  [[nodiscard]] static Result<ChildProcess> start(const std::vector<std::string>& words,
                                                  const std::vector<std::pair<std::string, std::string>>& environment);
  ~ChildProcess();
  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess& operator=(ChildProcess&& other) noexcept;

  [[nodiscard]] Status write_line(std::string line);
  // The next line, without its end; at most 1 MB.
  [[nodiscard]] Result<std::string> read_line(double patience_s);

 private:
  ChildProcess(std::string name, int process, int socket)
      : name_(std::move(name)), process_(process), socket_(socket) {}

  std::string name_;
  int process_ = -1;
  int socket_ = -1;
  std::string unread_;
};

}  // namespace muster
