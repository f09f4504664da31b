#include "aggregate/secret_noise.h"

#include <cmath>
#include <cstring>
#include <numbers>

#include "secure/key_agreement.h"

namespace muster {
namespace {

SecretKey key_of(const NoiseKey& key, std::string_view what, std::uint32_t merge, std::span<const double> sum) {
  prepare_cryptography();
  return derive_key(key.bytes, what, digest_of(std::as_bytes(sum)), merge, 0);
}

}  // namespace

SecretNoise::SecretNoise(const NoiseKey& key, std::uint32_t merge, std::span<const double> sum)
    : stream_(key_of(key, "noise of a private sum", merge, sum)) {
  const SecretKey name = key_of(key, "name of a private sum", merge, sum);
  std::memcpy(&release_, name.data(), sizeof release_);
}

double SecretNoise::normal() {
  if (has_spare_) {
    has_spare_ = false;
    return spare_;
  }
  const double radius = std::sqrt(-2.0 * std::log1p(-stream_.uniform()));
  const double angle = 2.0 * std::numbers::pi * stream_.uniform();
  spare_ = radius * std::sin(angle);
  has_spare_ = true;
  return radius * std::cos(angle);
}

}  // namespace muster
