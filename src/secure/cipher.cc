#include "secure/cipher.h"

#include <openssl/err.h>
#include <openssl/evp.h>

#include <algorithm>
#include <memory>

namespace muster {
namespace {

struct FreeContext {
  void operator()(EVP_CIPHER_CTX* context) const { EVP_CIPHER_CTX_free(context); }  // wipes it
};
using Context = std::unique_ptr<EVP_CIPHER_CTX, FreeContext>;

constexpr std::uint8_t kNonce[12] = {};

const std::uint8_t* raw(std::span<const std::byte> bytes) {
  return reinterpret_cast<const std::uint8_t*>(bytes.data());
}

// In pieces: OpenSSL counts bytes in an int. `update` is EVP_EncryptUpdate or EVP_DecryptUpdate.
template <typename Update>
bool transform(Update update, EVP_CIPHER_CTX* context, const std::uint8_t* from, std::size_t size, std::uint8_t* to) {
  constexpr std::size_t kPiece = std::size_t{1} << 30;
  for (std::size_t done = 0; done < size; done += kPiece) {
    const auto piece = static_cast<int>(std::min(kPiece, size - done));
    int written = 0;
    if (update(context, to + done, &written, from + done, piece) != 1 || written != piece) return false;
  }
  return true;
}

}  // namespace

std::vector<std::byte> encrypt_once(const SecretKey& key, std::span<const std::uint8_t> text,
                                    const PublicBytes& about) {
  std::vector<std::byte> bytes(text.size() + kCipherOverhead);
  auto* const out = reinterpret_cast<std::uint8_t*>(bytes.data());
  const Context context(EVP_CIPHER_CTX_new());
  int length = 0;
  const bool done =
      context && EVP_EncryptInit_ex(context.get(), EVP_aes_256_gcm(), nullptr, key.data(), kNonce) == 1 &&
      EVP_EncryptUpdate(context.get(), nullptr, &length, about.data(), static_cast<int>(about.size())) == 1 &&
      transform(EVP_EncryptUpdate, context.get(), text.data(), text.size(), out) &&
      EVP_EncryptFinal_ex(context.get(), out + text.size(), &length) == 1 &&
      EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_GCM_GET_TAG, kCipherOverhead, out + text.size()) == 1;
  MUSTER_CHECK(done, "AES-256-GCM fails for {} bytes", text.size());
  return bytes;
}

bool decrypt_once(const SecretKey& key, std::span<const std::byte> bytes, const PublicBytes& about,
                  std::span<std::uint8_t> text) {
  if (bytes.size() != text.size() + kCipherOverhead) return false;
  const Context context(EVP_CIPHER_CTX_new());
  std::uint8_t tag[kCipherOverhead];
  std::copy_n(raw(bytes) + text.size(), kCipherOverhead, tag);
  std::uint8_t end[kCipherOverhead];  // of a cipher without padding: nothing comes
  int length = 0;
  ERR_set_mark();
  const bool done =
      context && EVP_DecryptInit_ex(context.get(), EVP_aes_256_gcm(), nullptr, key.data(), kNonce) == 1 &&
      EVP_DecryptUpdate(context.get(), nullptr, &length, about.data(), static_cast<int>(about.size())) == 1 &&
      transform(EVP_DecryptUpdate, context.get(), raw(bytes), text.size(), text.data()) &&
      EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_GCM_SET_TAG, kCipherOverhead, tag) == 1 &&
      EVP_DecryptFinal_ex(context.get(), end, &length) == 1;
  ERR_pop_to_mark();
  if (!done) sodium_memzero(text.data(), text.size());
  return done;
}

}  // namespace muster
