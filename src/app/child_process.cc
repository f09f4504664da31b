#include "app/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstring>

#include "app/bench_clock.h"

extern char** environ;

namespace muster {
namespace {

constexpr std::size_t kLongestLine = 1 << 20;

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> list;
  for (std::string& word : words) list.push_back(word.data());
  list.push_back(nullptr);
  return list;
}

std::vector<std::string> merged_environment(const std::vector<std::pair<std::string, std::string>>& added) {
  std::vector<std::string> merged;
  for (const auto& [key, value] : added) merged.push_back(key + '=' + value);
  for (char** entry = environ; *entry; ++entry) {
    const std::string_view line = *entry;
    bool replaced = false;
    for (const auto& [key, value] : added) replaced = replaced || line.starts_with(key + '=');
    if (!replaced) merged.emplace_back(line);
  }
  return merged;
}

}  // namespace

Result<ChildProcess> ChildProcess::start(const std::vector<std::string>& words,
                                         const std::vector<std::pair<std::string, std::string>>& environment) {
  // A socket rather than two pipes: writing to a dead child is an error here, not a signal.
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return failure("{}: cannot make a socket: {}", words[0], std::strerror(errno));
  }
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  std::vector<std::string> arguments = words;
  std::vector<std::string> variables = merged_environment(environment);
  pid_t process = -1;
  const int error = ::posix_spawnp(&process, words[0].c_str(), &actions, nullptr, pointers(arguments).data(),
                                   pointers(variables).data());
  posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  if (error != 0) {
    ::close(ends[0]);
    return failure("{}: cannot start: {}", words[0], std::strerror(error));
  }
  return ChildProcess(words[0], process, ends[0]);
}

ChildProcess::~ChildProcess() {
  if (socket_ >= 0) ::close(socket_);
  if (process_ > 0) {
    ::kill(process_, SIGKILL);
    while (::waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
}

ChildProcess::ChildProcess(ChildProcess&& other) noexcept
    : name_(std::move(other.name_)),
      process_(std::exchange(other.process_, -1)),
      socket_(std::exchange(other.socket_, -1)),
      unread_(std::move(other.unread_)) {}

ChildProcess& ChildProcess::operator=(ChildProcess&& other) noexcept {
  std::swap(name_, other.name_);
  std::swap(process_, other.process_);
  std::swap(socket_, other.socket_);
  std::swap(unread_, other.unread_);
  return *this;
}

Status ChildProcess::write_line(std::string line) {
  line += '\n';
  std::string_view rest = line;
  while (!rest.empty()) {
    const ssize_t sent = ::send(socket_, rest.data(), rest.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return failure("{}: the child process has ended", name_);
    rest.remove_prefix(static_cast<std::size_t>(sent));
  }
  return {};
}

Result<std::string> ChildProcess::read_line(double patience_s) {
  const double deadline = wall_seconds() + patience_s;
  while (true) {
    if (const std::size_t end = unread_.find('\n'); end != std::string::npos) {
      std::string line = unread_.substr(0, end);
      unread_.erase(0, end + 1);
      return line;
    }
    if (unread_.size() > kLongestLine) return failure("{}: the child process sent a line of more than 1 MB", name_);
    const double left_s = deadline - wall_seconds();
    pollfd waiting{.fd = socket_, .events = POLLIN};
    const int ready = left_s > 0 ? ::poll(&waiting, 1, static_cast<int>(std::ceil(left_s * 1e3))) : 0;
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return failure("{}: the child process did not answer within {:.1f} s", name_, patience_s);
    char chunk[4096];
    const ssize_t got = ::recv(socket_, chunk, sizeof chunk, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return failure("{}: the child process ended without an answer", name_);
    unread_.append(chunk, static_cast<std::size_t>(got));
  }
}

}  // namespace muster
