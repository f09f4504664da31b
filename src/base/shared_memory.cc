#include "base/shared_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <limits>
#include <string>

namespace muster {
namespace {

// The token comes after the bytes, so that these begin at a page.
constexpr std::uint64_t kTokenBytes = sizeof(std::uint64_t);
// Only the mapping that it was made with can change it, and nobody takes away what another reads.
constexpr int kSeals = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE;

// An open descriptor, closed at the end unless it is released.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  [[nodiscard]] int get() const { return number_; }
  [[nodiscard]] int release() { return std::exchange(number_, -1); }

 private:
  int number_;
};

// Null if that fails.
std::byte* map(int descriptor, std::uint64_t bytes, int protection) {
  void* const at = ::mmap(nullptr, bytes, protection, MAP_SHARED, descriptor, 0);
  return at == MAP_FAILED ? nullptr : static_cast<std::byte*>(at);
}

// Memory that can be had without taking it from other processes; without limit if the kernel does not say.
std::uint64_t available_bytes() {
  std::ifstream info("/proc/meminfo");
  for (std::string word; info >> word;) {
    std::uint64_t kilobytes = 0;
    if (word == "MemAvailable:" && info >> kilobytes) return kilobytes * 1024;
  }
  return std::numeric_limits<std::uint64_t>::max();
}

std::uint64_t token_at(const std::byte* at) {
  std::uint64_t token = 0;
  std::memcpy(&token, at, sizeof token);
  return token;
}

}  // namespace

Result<std::shared_ptr<const SharedMemory>> SharedMemory::make(std::uint64_t bytes,
                                                               const std::function<void(std::span<std::byte>)>& fill) {
  const auto failed = [&](int error) {
    return failure("no {:.0f} MB of shared memory: {}", static_cast<double>(bytes) / 1e6, std::strerror(error));
  };
  // The kernel would promise more than it has, and end a process, perhaps another, when that shows.
  if (bytes > available_bytes()) return failed(ENOMEM);
  Descriptor descriptor(::memfd_create("muster-data", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (descriptor.get() < 0) return failed(errno);
  const std::uint64_t all = bytes + kTokenBytes;
  if (::ftruncate(descriptor.get(), static_cast<off_t>(all)) != 0) return failed(errno);
  std::uint64_t token = 0;
  if (::getrandom(&token, sizeof token, 0) != sizeof token) return failed(errno);
  std::byte* const at = map(descriptor.get(), all, PROT_READ | PROT_WRITE);
  if (!at) return failed(errno);
  std::shared_ptr<const SharedMemory> memory(new SharedMemory(descriptor.release(), token, {at, bytes}));
  if (::fcntl(memory->descriptor_, F_ADD_SEALS, kSeals) != 0) return failed(errno);
  fill({at, bytes});
  std::memcpy(at + bytes, &token, sizeof token);
  (void)::mprotect(at, all, PROT_READ);
  return memory;
}

Result<std::shared_ptr<const SharedMemory>> SharedMemory::attach(const SharedPlace& place) {
  const std::string path = fmt::format("/proc/{}/fd/{}", place.process, place.descriptor);
  const Descriptor descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (descriptor.get() < 0) {
    return failure("the memory of process {} cannot be seen: {}", place.process, std::strerror(errno));
  }
  const std::uint64_t all = place.bytes + kTokenBytes;
  struct stat found {};
  const int seals = ::fcntl(descriptor.get(), F_GET_SEALS);
  if (seals < 0 || (seals & kSeals) != kSeals || ::fstat(descriptor.get(), &found) != 0 ||
      static_cast<std::uint64_t>(found.st_size) != all) {
    return failure("the memory of process {} is not what it was said to be", place.process);
  }
  const std::byte* const at = map(descriptor.get(), all, PROT_READ);
  if (!at) return failure("the memory of process {} cannot be seen: {}", place.process, std::strerror(errno));
  std::shared_ptr<const SharedMemory> memory(new SharedMemory(-1, place.token, {at, place.bytes}));
  if (token_at(at + place.bytes) != place.token) {
    return failure("the memory of process {} is not what it was said to be", place.process);
  }
  return memory;
}

SharedMemory::~SharedMemory() {
  ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size() + kTokenBytes);
  if (descriptor_ >= 0) ::close(descriptor_);
}

SharedPlace SharedMemory::place() const {
  MUSTER_CHECK(descriptor_ >= 0, "made by another process");
  return {.process = ::getpid(), .descriptor = descriptor_, .bytes = bytes_.size(), .token = token_};
}

}  // namespace muster
