// Runs a program as a user would: arguments in, what it wrote on stdout and stderr and its exit status out.
#pragma once

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "scratch_folder.h"

namespace muster {

struct Finished {
  int status = -1;  // exit status, or 128 + signal
  std::string out;
  std::string err;
  std::uint64_t peak_rss_bytes = 0;  // as the kernel saw it
};

class Process {
 public:
  Process(const ScratchFolder& scratch, std::vector<std::string> command)
      : out_(scratch.path() / "stdout"), err_(scratch.path() / "stderr") {
    std::vector<char*> arguments;
    for (std::string& argument : command) arguments.push_back(argument.data());
    arguments.push_back(nullptr);
    child_ = ::fork();
    if (child_ == 0) {
      ::dup2(::open(out_.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644), STDOUT_FILENO);
      ::dup2(::open(err_.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644), STDERR_FILENO);
      ::execv(arguments[0], arguments.data());
      ::_exit(127);
    }
  }

  pid_t id() const { return child_; }
  void kill(int signal_number) const { ::kill(child_, signal_number); }

  Finished wait() const {
    int status = 0;
    rusage usage{};
    ::wait4(child_, &status, 0, &usage);
    return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), read(out_), read(err_),
            static_cast<std::uint64_t>(usage.ru_maxrss) * 1024};
  }

 private:
  static std::string read(const std::filesystem::path& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  std::filesystem::path out_;
  std::filesystem::path err_;
  pid_t child_ = -1;
};

}  // namespace muster
