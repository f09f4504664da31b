// Doorkeeper: how many streams a certificate may have open, and how often it may come. A process has one stream, or
// several that share its clients, and dials again when one breaks: whoever wants more takes what belongs to others.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "base/result.h"
#include "pki/identity.h"

namespace muster {

// Thread-safe.
class Doorkeeper : public std::enable_shared_from_this<Doorkeeper> {
 public:
  using Time = std::chrono::steady_clock::time_point;

  // Besides one for each client that the certificate stands for: those that have broken unnoticed, or are on their way.
  static constexpr std::uint64_t kMoreStreams = 3;
  static constexpr std::uint64_t kMostStreams = 1024;
  // For each of its streams. A process that is cut off again and again, each time right after it was welcomed, comes
  // ten times a second.
  static constexpr double kDialsAtOnce = 25;
  static constexpr double kDialsPerSecond = 0.5;

  // A stream that is open, for as long as it lives.
  class Pass {
   public:
    Pass(std::shared_ptr<Doorkeeper> door, std::string serial) : door_(std::move(door)), serial_(std::move(serial)) {}
    ~Pass();
    Pass(const Pass&) = delete;
    Pass& operator=(const Pass&) = delete;

   private:
    std::shared_ptr<Doorkeeper> door_;
    std::string serial_;
  };

  // Somebody whose certificate was verified; fails with the reason.
  [[nodiscard]] Result<std::shared_ptr<Pass>> enter(const Identity& who, Time now);

 private:
  struct Visitor {
    std::uint64_t open = 0;
    double dials = 0;  // that it has left
    Time seen;
  };
  void leave(const std::string& serial);

  std::mutex mutex_;
  std::map<std::string, Visitor> visitors_;  // as many as there are certificates
};

}  // namespace muster
