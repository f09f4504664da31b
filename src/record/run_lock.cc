#include "record/run_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <string>
#include <thread>
#include <utility>

namespace muster {
namespace {

// "process 123 on host", as the holder wrote it.
std::string holder() {
  char host[256] = {};
  if (::gethostname(host, sizeof host - 1) != 0) host[0] = '\0';
  return fmt::format("process {} on {}", ::getpid(), host[0] ? host : "an unknown host");
}

std::string holder_of(int descriptor) {
  char text[512];
  const ssize_t length = ::pread(descriptor, text, sizeof text, 0);
  if (length <= 0) return "another process";  // it has just taken the lock
  const std::string_view line(text, static_cast<std::size_t>(length));
  return std::string(line.substr(0, line.find('\n')));
}

// Whether the file that was locked is still the one that others find: its last holder may have removed it meanwhile.
bool still_there(const std::filesystem::path& file, int descriptor) {
  struct stat locked {};
  struct stat found {};
  return ::fstat(descriptor, &locked) == 0 && ::stat(file.c_str(), &found) == 0 && locked.st_ino == found.st_ino &&
         locked.st_dev == found.st_dev;
}

struct Descriptor {
  int number;
  explicit Descriptor(int opened) : number(opened) {}
  ~Descriptor() {
    if (number >= 0) ::close(number);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
};

// 0, or the number of what went wrong.
int try_lock(int descriptor) {
  while (::flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EINTR) return errno;
  }
  return 0;
}

// Waits for those that only ask whether it is held (record/lock_probe.h), which takes them microseconds.
int try_lock_patiently(int descriptor) {
  int error = try_lock(descriptor);
  for (int tries = 0; error == EWOULDBLOCK && tries < 20; ++tries) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    error = try_lock(descriptor);
  }
  return error;
}

bool locks_unknown(int error) {
  return error == ENOLCK || error == ENOSYS || error == EOPNOTSUPP || error == EINVAL;
}

}  // namespace

Result<RunLock> RunLock::take(const std::filesystem::path& folder) {
  const std::filesystem::path file = folder / "lock";
  while (true) {
    Descriptor opened{::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644)};
    if (opened.number < 0) return failure("{}: cannot create: {}", file.string(), std::strerror(errno));
    const int error = try_lock_patiently(opened.number);
    if (error == EWOULDBLOCK) {
      return failure("{}: {} is running it; wait until it ends, or stop it, and try again", folder.string(),
                     holder_of(opened.number));
    }
    if (error != 0 && !locks_unknown(error)) {
      return failure("{}: cannot lock: {}", file.string(), std::strerror(error));
    }
    if (!still_there(file, opened.number)) continue;
    const std::string line = holder() + "\n";
    const bool told = ::ftruncate(opened.number, 0) == 0 &&
                      ::pwrite(opened.number, line.data(), line.size(), 0) == static_cast<ssize_t>(line.size());
    if (!told) return failure("{}: cannot write: {}", file.string(), std::strerror(errno));
    return RunLock(file, std::exchange(opened.number, -1));
  }
}

RunLock::~RunLock() {
  release();
}

RunLock::RunLock(RunLock&& other) noexcept
    : file_(std::move(other.file_)), descriptor_(std::exchange(other.descriptor_, -1)) {}

RunLock& RunLock::operator=(RunLock&& other) noexcept {
  if (this != &other) {
    release();
    file_ = std::move(other.file_);
    descriptor_ = std::exchange(other.descriptor_, -1);
  }
  return *this;
}

// Removed while it is still locked, so that nobody else's file can be meant.
void RunLock::release() {
  if (descriptor_ < 0) return;
  ::unlink(file_.c_str());
  ::close(descriptor_);
  descriptor_ = -1;
}

}  // namespace muster
