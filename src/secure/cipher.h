// Authenticated encryption (AES-256-GCM) with keys that are used for one text only, so that no nonce is needed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "secure/secret_bytes.h"

namespace muster {

inline constexpr std::size_t kCipherOverhead = 16;  // bytes of the tag behind the text

// `about` is not in the text but authenticated with it.
[[nodiscard]] std::vector<std::byte> encrypt_once(const SecretKey& key, std::span<const std::uint8_t> text,
                                                  const PublicBytes& about);
// Writes into `text`; false if the bytes are not what encrypt_once() gave for this key and `about`, or of another size.
[[nodiscard]] bool decrypt_once(const SecretKey& key, std::span<const std::byte> bytes, const PublicBytes& about,
                                std::span<std::uint8_t> text);

}  // namespace muster
