// Where key material comes from. A deployment has SystemKeys and nothing else: what takes keys for real says so in its
// type. SeededKeys repeat, so that runs do; they exist for simulation and for tests.
#pragma once

#include <cstdint>
#include <span>

#include "secure/secret_bytes.h"

namespace muster {

class KeySource {
 public:
  virtual ~KeySource() = default;
  virtual void fill(std::span<std::uint8_t> out) = 0;
  [[nodiscard]] SecretKey key();
};

// The system's source of randomness.
class SystemKeys final : public KeySource {
 public:
  void fill(std::span<std::uint8_t> out) override;
};

// What names a source that repeats; each member of each sum has one of its own.
struct KeySeed {
  std::uint64_t seed = 0;
  std::uint32_t round = 0;
  std::uint32_t part = 0;
  std::uint32_t group = 0;
  std::uint32_t client = 0;
};

class SeededKeys final : public KeySource {
 public:
  explicit SeededKeys(const KeySeed& seed);
  void fill(std::span<std::uint8_t> out) override;

 private:
  SecretKey state_;
  std::uint64_t drawn_ = 0;
};

// Must have been called before anything of this stage is; costs nothing when it was.
void prepare_cryptography();

}  // namespace muster
