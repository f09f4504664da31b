// SpareCores: federations that run side by side share the cores of this machine. Each has one core for itself; what
// nobody has, e.g. because fewer are left than there are cores, is lent for one piece of work at a time.
#pragma once

#include <cstdint>
#include <mutex>

namespace muster {

// Thread-safe.
class SpareCores {
 public:
  // Precondition: cores >= 1.
  explicit SpareCores(std::uint32_t cores) : cores_(cores) {}

  // A federation begins, and has a core for itself until it ends.
  void begin();
  void end();

  // How many cores whoever has begun may use besides its own until it gives them back: at most `most`, and no more than
  // its fair share of those that nobody has.
  [[nodiscard]] std::uint32_t borrow(std::uint32_t most);
  void give_back(std::uint32_t count);

 private:
  const std::uint32_t cores_;
  std::mutex mutex_;
  std::uint32_t running_ = 0;  // guarded by mutex_
  std::uint32_t lent_ = 0;     // guarded by mutex_
};

}  // namespace muster
