// Key pairs (X25519), what two of them have in common, and keys derived from that. Every derived key is bound to what
// it is for: a label, and the digest of the sum's terms (run, round, group, model).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "secure/key_source.h"
#include "secure/secret_bytes.h"

namespace muster {

[[nodiscard]] PublicBytes public_key(const SecretKey& own);

// Nothing if the other key is one of the few with which everybody would have the same in common.
[[nodiscard]] std::optional<SecretKey> agree_on_key(const SecretKey& own, const PublicBytes& other);

// Whether it is none of those.
[[nodiscard]] bool is_useful(const PublicBytes& other);

// A keyed hash (BLAKE2b) of label, context and the two numbers.
[[nodiscard]] SecretKey derive_key(const SecretKey& from, std::string_view label, const PublicBytes& context,
                                   std::uint32_t first, std::uint32_t second);

// A hash (BLAKE2b) of what is public.
[[nodiscard]] PublicBytes digest_of(std::span<const std::byte> bytes);

}  // namespace muster
