// FaultyWire: a proxy on loopback between a process that dials and one that listens, which treats the bytes that it
// carries badly. Below TLS: what it changes is noticed, and the connection made anew.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/random.h"

namespace muster {

class FaultyWire {
 public:
  enum class Does {
    kCarry,
    kDelay,    // every piece waits a little, and goes on in small parts
    kFlip,     // one bit of a piece, now and then
    kCut,      // half of a piece, and then the connection ends
    kSwallow,  // nothing goes on any more, and nobody is told
  };

  // To a port of loopback.
  explicit FaultyWire(int to, std::uint64_t seed = 1) : to_(to), seed_(seed) {
    listening_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address = loopback(0);
    socklen_t size = sizeof address;
    EXPECT_EQ(::bind(listening_, reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(::listen(listening_, 16), 0);
    EXPECT_EQ(::getsockname(listening_, reinterpret_cast<sockaddr*>(&address), &size), 0);
    port_ = ntohs(address.sin_port);
    acceptor_ = std::thread([this] { accept_all(); });
  }
  ~FaultyWire() {
    over_ = true;
    acceptor_.join();
    for (std::thread& carrier : carriers_) carrier.join();
    ::close(listening_);
  }
  FaultyWire(const FaultyWire&) = delete;
  FaultyWire& operator=(const FaultyWire&) = delete;

  [[nodiscard]] std::string address() const { return "127.0.0.1:" + std::to_string(port_); }
  void set(Does does) { does_ = does; }
  [[nodiscard]] int faults() const { return faults_; }
  [[nodiscard]] int connections() const { return connections_; }

 private:
  static sockaddr_in loopback(int port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    return address;
  }
  // Whether there is something to read; false when all is over.
  bool ready(int socket) const {
    pollfd entry{.fd = socket, .events = POLLIN, .revents = 0};
    while (!over_) {
      if (::poll(&entry, 1, 20) > 0) return true;
    }
    return false;
  }
  void accept_all() {
    while (ready(listening_)) {
      const int near = ::accept4(listening_, nullptr, nullptr, SOCK_CLOEXEC);
      if (near < 0) continue;
      ++connections_;
      carriers_.emplace_back([this, near, number = connections_.load()] { connect_through(near, number); });
    }
  }
  void connect_through(int near, int number) {
    const int far = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const sockaddr_in address = loopback(to_);
    if (::connect(far, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) {
      std::thread down([&] { carry(far, near, 2 * number); });
      carry(near, far, 2 * number + 1);
      down.join();
    }
    ::close(near);
    ::close(far);
  }
  void carry(int from, int to, int number) {
    Stream stream({.seed = seed_, .purpose = Purpose::kTest, .id = static_cast<std::uint32_t>(number)});
    std::vector<char> bytes(16384);
    while (ready(from)) {
      const ssize_t got = ::recv(from, bytes.data(), bytes.size(), 0);
      if (got <= 0) break;
      auto left = static_cast<std::size_t>(got);
      const Does does = does_;
      const bool now = stream.below(kOneIn) == 0;
      bool last = false;
      if (does == Does::kSwallow) {
        ++faults_;
        continue;
      }
      if (does == Does::kFlip && now) {
        bytes[stream.below(static_cast<std::uint32_t>(left))] ^= static_cast<char>(1 << stream.below(8));
        ++faults_;
      }
      if (does == Does::kCut && now) {
        left /= 2;
        last = true;
        ++faults_;
      }
      const char* next = bytes.data();
      bool whole = true;
      while (left > 0 && whole) {
        std::size_t part = left;
        if (does == Does::kDelay) {
          part = std::min<std::size_t>(left, 1 + stream.below(4096));
          std::this_thread::sleep_for(std::chrono::milliseconds(1 + stream.below(5)));
          ++faults_;
        }
        const ssize_t sent = ::send(to, next, part, MSG_NOSIGNAL);
        whole = sent > 0;
        if (!whole) break;
        next += sent;
        left -= static_cast<std::size_t>(sent);
      }
      if (last || !whole) break;
    }
    ::shutdown(from, SHUT_RDWR);
    ::shutdown(to, SHUT_RDWR);
  }

  static constexpr std::uint32_t kOneIn = 25;

  const int to_;
  const std::uint64_t seed_;
  int listening_ = -1;
  int port_ = 0;
  std::atomic<bool> over_{false};
  std::atomic<Does> does_{Does::kCarry};
  std::atomic<int> faults_{0};
  std::atomic<int> connections_{0};
  std::thread acceptor_;
  std::vector<std::thread> carriers_;  // the acceptor's, until it has ended
};

}  // namespace muster
