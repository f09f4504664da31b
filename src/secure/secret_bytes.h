// SecretBytes: so many bytes of key material, wiped when nobody needs them any more. Copies are wiped as well,
// moved-from ones at once.
#pragma once

#include <sodium.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace muster {

template <std::size_t kSize>
class SecretBytes {
 public:
  SecretBytes() = default;
  explicit SecretBytes(std::span<const std::uint8_t, kSize> from) {
    std::copy(from.begin(), from.end(), bytes_.begin());
  }
  ~SecretBytes() { wipe(); }
  SecretBytes(const SecretBytes&) = default;
  SecretBytes& operator=(const SecretBytes&) = default;
  SecretBytes(SecretBytes&& other) noexcept : bytes_(other.bytes_) { other.wipe(); }
  SecretBytes& operator=(SecretBytes&& other) noexcept {
    if (this == &other) return *this;
    bytes_ = other.bytes_;
    other.wipe();
    return *this;
  }

  void wipe() { sodium_memzero(bytes_.data(), kSize); }
  [[nodiscard]] std::uint8_t* data() { return bytes_.data(); }
  [[nodiscard]] const std::uint8_t* data() const { return bytes_.data(); }
  [[nodiscard]] std::span<std::uint8_t, kSize> bytes() { return bytes_; }
  [[nodiscard]] std::span<const std::uint8_t, kSize> bytes() const { return bytes_; }
  static constexpr std::size_t size() { return kSize; }

  // In a time that does not depend on the bytes.
  bool operator==(const SecretBytes& other) const { return sodium_memcmp(data(), other.data(), kSize) == 0; }

 private:
  std::array<std::uint8_t, kSize> bytes_{};
};

using SecretKey = SecretBytes<32>;

// Of what is public: keys that are published, hashes.
using PublicBytes = std::array<std::uint8_t, 32>;

}  // namespace muster
