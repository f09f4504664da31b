// SharedMemory: memory that several processes of one machine see. One of them fills it, then nobody can change it. It
// has no name in any file system, so its size is that of no mount, and it is gone with the last process that has it,
// however that one ends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "base/result.h"

namespace muster {

// Where another process finds it; made of plain numbers, to be sent.
struct SharedPlace {
  std::int32_t process = 0;
  std::int32_t descriptor = 0;
  std::uint64_t bytes = 0;
  std::uint64_t token = 0;  // tells it from anything else that may be in that place
};

class SharedMemory {
 public:
  // Makes room for so many bytes and calls `fill` with it, once. Fails, before that, if there is no such memory.
  [[nodiscard]] static Result<std::shared_ptr<const SharedMemory>> make(
      std::uint64_t bytes, const std::function<void(std::span<std::byte>)>& fill);
  // What another process of this machine and user has made and still has. Fails if it cannot be seen from here.
  [[nodiscard]] static Result<std::shared_ptr<const SharedMemory>> attach(const SharedPlace& place);
  ~SharedMemory();
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  // Begins at a page.
  [[nodiscard]] std::span<const std::byte> bytes() const { return bytes_; }
  // Precondition: it was made here.
  [[nodiscard]] SharedPlace place() const;

 private:
  SharedMemory(int descriptor, std::uint64_t token, std::span<const std::byte> bytes)
      : descriptor_(descriptor), token_(token), bytes_(bytes) {}

  int descriptor_;  // -1: made by another process
  std::uint64_t token_;
  std::span<const std::byte> bytes_;
};

}  // namespace muster
