// A 64-bit hash over bytes in order (XXH3): signatures of runs and checksums of files.
#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace muster {

class Hasher {
 public:
  Hasher();
  ~Hasher();
  Hasher(const Hasher&) = delete;
  Hasher& operator=(const Hasher&) = delete;

  void add(const void* data, std::size_t bytes);
  void add(std::string_view text) { add(text.data(), text.size()); }
  void add(std::span<const float> values) { add(values.data(), values.size_bytes()); }
  void add(std::uint64_t value) { add(&value, sizeof value); }
  // Without this a fraction would be cut to an integer on its way in.
  template <std::floating_point T>
  void add(T value) {
    const double bits = value;
    add(&bits, sizeof bits);
  }
  [[nodiscard]] std::uint64_t digest() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

[[nodiscard]] std::uint64_t hash_bytes(const void* data, std::size_t bytes);
[[nodiscard]] std::string hex16(std::uint64_t value);

}  // namespace muster
