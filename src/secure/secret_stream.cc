#include "secure/secret_stream.h"

#include "secure/key_agreement.h"

namespace muster {
namespace {

constexpr std::size_t kBlockWords = 4096;

}  // namespace

SecretStream::SecretStream(SecretKey key) : key_(std::move(key)), block_(kBlockWords), used_(kBlockWords) {}

SecretStream::~SecretStream() {
  sodium_memzero(block_.data(), block_.size() * sizeof block_[0]);
}

double SecretStream::uniform() {
  if (used_ == kBlockWords) {
    const SecretKey seed = derive_key(key_, "block", {}, blocks_++, 0);
    randombytes_buf_deterministic(block_.data(), block_.size() * sizeof block_[0], seed.data());
    used_ = 0;
  }
  return static_cast<double>(block_[used_++] >> 11) * 0x1p-53;
}

}  // namespace muster
