#include "secure/key_agreement.h"

#include <algorithm>
#include <span>

namespace muster {

PublicBytes public_key(const SecretKey& own) {
  PublicBytes key;
  crypto_scalarmult_base(key.data(), own.data());
  return key;
}

std::optional<SecretKey> agree_on_key(const SecretKey& own, const PublicBytes& other) {
  SecretKey shared;
  if (crypto_scalarmult(shared.data(), own.data(), other.data()) != 0) return std::nullopt;
  return shared;
}

bool is_useful(const PublicBytes& other) {
  SecretKey any;  // of zeros, of which X25519 makes a valid scalar
  std::ranges::fill(std::span(any.data(), SecretKey::size()), std::uint8_t{0});
  return agree_on_key(any, other).has_value();
}

SecretKey derive_key(const SecretKey& from, std::string_view label, const PublicBytes& context, std::uint32_t first,
                     std::uint32_t second) {
  const std::uint32_t numbers[] = {first, second, static_cast<std::uint32_t>(label.size())};
  crypto_generichash_state state;
  crypto_generichash_init(&state, from.data(), from.size(), SecretKey::size());
  crypto_generichash_update(&state, reinterpret_cast<const std::uint8_t*>(numbers), sizeof numbers);
  crypto_generichash_update(&state, reinterpret_cast<const std::uint8_t*>(label.data()), label.size());
  crypto_generichash_update(&state, context.data(), context.size());
  SecretKey key;
  crypto_generichash_final(&state, key.data(), key.size());
  sodium_memzero(&state, sizeof state);
  return key;
}

PublicBytes digest_of(std::span<const std::byte> bytes) {
  PublicBytes digest;
  crypto_generichash(digest.data(), digest.size(), reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size(),
                     nullptr, 0);
  return digest;
}

}  // namespace muster
