#include "secure/key_source.h"

#include "base/check.h"

namespace muster {

void prepare_cryptography() {
  static const int ready = sodium_init();  // 1 where somebody else did it before
  MUSTER_CHECK(ready >= 0, "libsodium does not start: {}", ready);
}

SecretKey KeySource::key() {
  SecretKey key;
  fill(key.bytes());
  return key;
}

void SystemKeys::fill(std::span<std::uint8_t> out) {
  prepare_cryptography();
  randombytes_buf(out.data(), out.size());
}

SeededKeys::SeededKeys(const KeySeed& seed) {
  prepare_cryptography();
  const std::uint64_t words[] = {seed.seed, (std::uint64_t{seed.round} << 32) | seed.part,
                                 (std::uint64_t{seed.group} << 32) | seed.client};
  crypto_generichash(state_.data(), state_.size(), reinterpret_cast<const std::uint8_t*>(words), sizeof words, nullptr,
                     0);
}

void SeededKeys::fill(std::span<std::uint8_t> out) {
  SecretKey next;
  const std::uint64_t number = drawn_++;
  crypto_generichash(next.data(), next.size(), reinterpret_cast<const std::uint8_t*>(&number), sizeof number,
                     state_.data(), state_.size());
  randombytes_buf_deterministic(out.data(), out.size(), next.data());
}

}  // namespace muster
