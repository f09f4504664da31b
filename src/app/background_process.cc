#include "app/background_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

namespace muster {
namespace {

constexpr double kPoliteS = 5;

}  // namespace

Result<BackgroundProcess> BackgroundProcess::start(std::vector<std::string> words, const std::filesystem::path& log) {
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const int file = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (file < 0) return failure("{}: cannot be written: {}", log.string(), std::strerror(errno));
  const pid_t parent = ::getpid();
  const pid_t process = ::fork();
  if (process == 0) {
    // Only what is safe between fork and exec.
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (::getppid() != parent) ::_exit(1);
    ::dup2(file, STDOUT_FILENO);
    ::dup2(file, STDERR_FILENO);
    const int nothing = ::open("/dev/null", O_RDONLY);
    if (nothing >= 0) ::dup2(nothing, STDIN_FILENO);
    ::setpgid(0, 0);  // Ctrl-C is for the one who started it
    ::execv(arguments[0], arguments.data());
    ::_exit(127);
  }
  const int error = errno;
  ::close(file);
  if (process < 0) return failure("{}: cannot start: {}", words[0], std::strerror(error));
  return BackgroundProcess(process);
}

std::optional<int> BackgroundProcess::wait(double patience_s) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::duration<double>(patience_s);
  while (process_ > 0) {
    int status = 0;
    const pid_t ended = ::waitpid(process_, &status, WNOHANG);
    if (ended == process_) {
      process_ = -1;
      return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    }
    if (ended < 0 && errno != EINTR) process_ = -1;
    if (std::chrono::steady_clock::now() >= until) return std::nullopt;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return std::nullopt;
}

BackgroundProcess::~BackgroundProcess() {
  if (process_ <= 0) return;
  ::kill(process_, SIGTERM);
  if (wait(kPoliteS) || process_ <= 0) return;
  ::kill(process_, SIGKILL);
  while (::waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

}  // namespace muster
