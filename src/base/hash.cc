#include "base/hash.h"

#include <fmt/format.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

namespace muster {

struct Hasher::State {
  XXH3_state_t xxh;
};

Hasher::Hasher() : state_(std::make_unique<State>()) {
  XXH3_64bits_reset(&state_->xxh);
}
Hasher::~Hasher() = default;
void Hasher::add(const void* data, std::size_t bytes) {
  XXH3_64bits_update(&state_->xxh, data, bytes);
}
std::uint64_t Hasher::digest() const {
  return XXH3_64bits_digest(&state_->xxh);
}

std::uint64_t hash_bytes(const void* data, std::size_t bytes) {
  return XXH3_64bits(data, bytes);
}
std::string hex16(std::uint64_t value) {
  return fmt::format("{:016x}", value);
}

}  // namespace muster
