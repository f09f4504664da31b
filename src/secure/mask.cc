#include "secure/mask.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <memory>

#include "base/check.h"

namespace muster {
namespace {

constexpr std::size_t kPieceBytes = 8192;  // of a mask at a time: small enough for the first cache
constexpr std::array<std::uint8_t, kPieceBytes> kZeros{};

struct FreeMaskContext {
  void operator()(EVP_CIPHER_CTX* context) const { EVP_CIPHER_CTX_free(context); }
};

template <typename Word>
void add(Word* into, const Word* words, std::size_t count, MaskSign sign) {
  if (sign == MaskSign::kPlus) {
    for (std::size_t i = 0; i < count; ++i) into[i] += words[i];
  } else {
    for (std::size_t i = 0; i < count; ++i) into[i] -= words[i];
  }
}

template <typename Word>
void add_stream(std::vector<Word>& into, EVP_CIPHER_CTX* context, MaskSign sign) {
  std::array<Word, kPieceBytes / sizeof(Word)> piece;
  for (std::size_t at = 0; at < into.size(); at += piece.size()) {
    const std::size_t count = std::min(piece.size(), into.size() - at);
    const int bytes = static_cast<int>(count * sizeof(Word));
    int written = 0;
    const bool done =
        EVP_EncryptUpdate(context, reinterpret_cast<std::uint8_t*>(piece.data()), &written, kZeros.data(), bytes) == 1;
    MUSTER_CHECK(done && written == bytes, "AES-256-CTR wrote {} of {} bytes", written, bytes);
    add(into.data() + at, piece.data(), count, sign);
  }
  OPENSSL_cleanse(piece.data(), sizeof piece);
}

}  // namespace

Words zero_words(std::uint32_t bits, std::size_t count) {
  MUSTER_CHECK(bits == 32 || bits == 64, "words of {} bits", bits);
  if (bits == 32) return std::vector<std::uint32_t>(count);
  return std::vector<std::uint64_t>(count);
}

std::uint32_t bits_of(const Words& words) {
  return words.index() == 0 ? 32 : 64;
}

std::size_t count_of(const Words& words) {
  return std::visit([](const auto& values) { return values.size(); }, words);
}

void add_words(Words& into, const Words& words, MaskSign sign) {
  MUSTER_CHECK(into.index() == words.index() && count_of(into) == count_of(words), "{} words of {} bits, {} of {}",
               count_of(into), bits_of(into), count_of(words), bits_of(words));
  std::visit(
      [&](auto& values) {
        const auto& others = std::get<std::remove_reference_t<decltype(values)>>(words);
        add(values.data(), others.data(), values.size(), sign);
      },
      into);
}

void add_mask(Words& into, const SecretKey& key, MaskSign sign) {
  constexpr std::uint8_t kFirstBlock[16] = {};
  const std::unique_ptr<EVP_CIPHER_CTX, FreeMaskContext> context(EVP_CIPHER_CTX_new());
  const bool ready =
      context && EVP_EncryptInit_ex(context.get(), EVP_aes_256_ctr(), nullptr, key.data(), kFirstBlock) == 1;
  MUSTER_CHECK(ready, "AES-256-CTR does not start for {} words", count_of(into));
  std::visit([&](auto& values) { add_stream(values, context.get(), sign); }, into);
}

}  // namespace muster
