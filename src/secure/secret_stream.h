// SecretStream: uniform numbers that nobody can repeat without the key that they come from (ChaCha20, seeded by BLAKE2b
// of the key).
#pragma once

#include <cstdint>
#include <vector>

#include "secure/secret_bytes.h"

namespace muster {

// What the noise of a private run comes from.
struct NoiseKey {
  SecretKey bytes;
};

class SecretStream {
 public:
  explicit SecretStream(SecretKey key);
  ~SecretStream();
  SecretStream(const SecretStream&) = delete;
  SecretStream& operator=(const SecretStream&) = delete;

  // Of [0, 1), from 53 bits.
  [[nodiscard]] double uniform();

 private:
  SecretKey key_;
  std::uint32_t blocks_ = 0;
  std::vector<std::uint64_t> block_;
  std::size_t used_;
};

}  // namespace muster
