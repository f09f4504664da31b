#include "base/secret.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace muster {
namespace {

constexpr off_t kLargestBytes = 64 << 10;

struct Descriptor {
  int number;
  ~Descriptor() {
    if (number >= 0) ::close(number);
  }
};

}  // namespace

Secret::~Secret() {
  explicit_bzero(text_.data(), text_.size());
}

Status write_secret(const std::filesystem::path& path, const Secret& secret) {
  const auto fail = [&]() -> Status { return failure("{}: cannot write: {}", path.string(), std::strerror(errno)); };
  const Descriptor file{::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600)};
  if (file.number < 0) return fail();
  std::string_view rest = secret.text();
  while (!rest.empty()) {
    const ssize_t written = ::write(file.number, rest.data(), rest.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return fail();
    rest.remove_prefix(static_cast<std::size_t>(written));
  }
  if (::fsync(file.number) != 0) return fail();
  return {};
}

Result<Secret> read_secret(const std::filesystem::path& path) {
  const auto fail = [&] { return failure("{}: cannot read: {}", path.string(), std::strerror(errno)); };
  const Descriptor file{::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC)};
  struct stat found {};
  if (file.number < 0 || ::fstat(file.number, &found) != 0) return fail();
  if (!S_ISREG(found.st_mode)) return failure("{}: is no file", path.string());
  if ((found.st_mode & 077) != 0) {
    return failure("{}: mode {:04o} lets others at the key, want 0600: chmod 600 {}", path.string(),
                   found.st_mode & 07777, path.string());
  }
  if (found.st_size > kLargestBytes) {
    return failure("{}: {} bytes, want a key of at most {}", path.string(), found.st_size, kLargestBytes);
  }
  Secret secret(static_cast<std::size_t>(found.st_size));
  for (off_t done = 0; done < found.st_size;) {
    const ssize_t got = ::read(file.number, secret.data() + done, static_cast<std::size_t>(found.st_size - done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail();
    if (got == 0) return failure("{}: was cut short while it was read", path.string());
    done += got;
  }
  return secret;
}

}  // namespace muster
