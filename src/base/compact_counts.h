// CompactCounts: how often something happened to each client, in a byte per client. The few counts that do not fit in
// one are kept apart.
#pragma once

#include <cstdint>
#include <limits>
#include <unordered_map>
#include <vector>

namespace muster {

class CompactCounts {
 public:
  explicit CompactCounts(std::uint32_t clients) : small_(clients) {}

  [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(small_.size()); }
  // Precondition of all that follow: client < size().
  [[nodiscard]] std::uint32_t operator[](std::uint32_t client) const {
    return small_[client] < kApart ? small_[client] : large_.at(client);
  }
  void add(std::uint32_t client) { set(client, (*this)[client] + 1); }
  void set(std::uint32_t client, std::uint32_t count) {
    small_[client] = count < kApart ? static_cast<std::uint8_t>(count) : kApart;
    if (count < kApart) {
      large_.erase(client);
    } else {
      large_[client] = count;
    }
  }

 private:
  static constexpr std::uint8_t kApart = std::numeric_limits<std::uint8_t>::max();  // see large_

  std::vector<std::uint8_t> small_;
  std::unordered_map<std::uint32_t, std::uint32_t> large_;
};

}  // namespace muster
