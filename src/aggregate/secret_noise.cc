#include "aggregate/secret_noise.h"

#include <cmath>
#include <cstring>
#include <numbers>

#include "secure/key_agreement.h"

namespace muster {
namespace {

constexpr std::size_t kBlockWords = 4096;

}  // namespace

SecretNoise::SecretNoise(const NoiseKey& key, std::uint32_t merge, std::span<const double> sum)
    : block_(kBlockWords), used_(kBlockWords) {
  prepare_cryptography();
  const PublicBytes about = digest_of(std::as_bytes(sum));
  stream_ = derive_key(key.bytes, "noise of a private sum", about, merge, 0);
  const SecretKey name = derive_key(key.bytes, "name of a private sum", about, merge, 0);
  std::memcpy(&release_, name.data(), sizeof release_);
}

SecretNoise::~SecretNoise() {
  sodium_memzero(block_.data(), block_.size() * sizeof block_[0]);
}

double SecretNoise::uniform() {
  if (used_ == kBlockWords) {
    const SecretKey seed = derive_key(stream_, "block", {}, blocks_++, 0);
    randombytes_buf_deterministic(block_.data(), block_.size() * sizeof block_[0], seed.data());
    used_ = 0;
  }
  return static_cast<double>(block_[used_++] >> 11) * 0x1p-53;
}

double SecretNoise::normal() {
  if (has_spare_) {
    has_spare_ = false;
    return spare_;
  }
  const double radius = std::sqrt(-2.0 * std::log1p(-uniform()));
  const double angle = 2.0 * std::numbers::pi * uniform();
  spare_ = radius * std::sin(angle);
  has_spare_ = true;
  return radius * std::cos(angle);
}

}  // namespace muster
