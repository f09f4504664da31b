#include "secure/sealed_relay.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/parcel.h"
#include "secure/key_agreement.h"

namespace muster {
namespace {

static_assert(std::endian::native == std::endian::little, "models are sealed as they are in memory");

constexpr char kKeyLabel[] = "muster: key of a chain's member";
constexpr char kModelLabel[] = "muster: sealed model of a chain";
constexpr char kWrapLabel[] = "wrapped key";

std::string signed_text(const ChainTerms& terms, const ChainKey& key) {
  ParcelWriter out;
  out.put_text(kKeyLabel);
  out.put_text(terms.run);
  out.put(terms.round);
  out.put(terms.group);
  out.put(key.client);
  out.put_text(key.name);
  out.put(key.key);
  const std::vector<std::byte> bytes = std::move(out).finish().words;
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Everything that a sealed model is bound to.
PublicBytes about(const ChainTerms& terms, const SealedHead& head, std::size_t values) {
  ParcelWriter out;
  out.put_text(kModelLabel);
  out.put_text(terms.run);
  out.put(terms.round);
  out.put(terms.group);
  out.put(head.part);
  out.put(head.sender);
  out.put(head.salt);
  out.put(std::uint64_t{values});
  return digest_of(std::move(out).finish().words);
}

std::span<const std::uint8_t> bytes_of(std::span<const float> values) {
  return {reinterpret_cast<const std::uint8_t*>(values.data()), values.size_bytes()};
}

}  // namespace

Result<ChainMember> ChainMember::make(ChainTerms terms, const MemberName& who, KeySource& keys,
                                      const MemberSigner& signer) {
  prepare_cryptography();
  ChainMember member(std::move(terms), keys.key());
  member.key_.client = who.client;
  member.key_.name = who.name;
  member.key_.key = public_key(member.secret_);
  member.key_.credential = signer.credential();
  MUSTER_ASSIGN(member.key_.signature, signer.sign(signed_text(member.terms_, member.key_)));
  if (member.key_.credential.size() > kMostCredentialBytes || member.key_.signature.size() > kMostSignatureBytes) {
    return failure("a certificate of {} bytes with signatures of {}, want at most {} and {}",
                   member.key_.credential.size(), member.key_.signature.size(), kMostCredentialBytes,
                   kMostSignatureBytes);
  }
  return member;
}

Status ChainMember::believe(const ChainKey& key, const MemberVerifier& verifier) const {
  if (key.name.empty() != key_.name.empty()) return failure("clients of this run are not called so");
  return verifier.verify({key.client, key.name}, key.credential, signed_text(terms_, key), key.signature);
}

std::optional<SecretKey> ChainMember::shared_with(const PublicBytes& other, const PublicBytes& about, ClientId sender,
                                                  ClientId reader) const {
  const std::optional<SecretKey> common = agree_on_key(secret_, other);
  if (!common) return std::nullopt;
  return derive_key(*common, kWrapLabel, about, sender.value, reader.value);
}

Result<SealedModel> ChainMember::seal(std::uint32_t part, std::span<const float> model,
                                      std::span<const ChainKey> readers, KeySource& keys,
                                      const MemberVerifier& verifier) const {
  if (readers.size() > kMostReaders) return failure("{} readers, want at most {}", readers.size(), kMostReaders);
  SealedModel sealed{.head = {.sender = key_.client, .part = part}};
  keys.fill(sealed.head.salt);
  const PublicBytes bound = about(terms_, sealed.head, model.size());
  const SecretKey content = keys.key();
  const auto wrap = [&](const ChainKey& reader) {
    const std::optional<SecretKey> common = shared_with(reader.key, bound, key_.client, reader.client);
    if (!common) return;  // a key with which everybody would have the same in common
    WrappedKey& wrapped = sealed.head.keys.emplace_back(WrappedKey{.reader = reader.client});
    const std::vector<std::byte> bytes = encrypt_once(*common, content.bytes(), bound);
    std::memcpy(wrapped.bytes.data(), bytes.data(), wrapped.bytes.size());
  };
  for (const ChainKey& reader : readers) {
    if (reader.client != key_.client && believe(reader, verifier)) wrap(reader);
  }
  wrap(key_);
  const std::vector<std::byte> bytes = encrypt_once(content, bytes_of(model), bound);
  sealed.values.resize(bytes.size() / sizeof(float));
  std::memcpy(sealed.values.data(), bytes.data(), bytes.size());
  return sealed;
}

Result<std::vector<float>> ChainMember::open(const SealedHead& head, std::span<const float> values,
                                             const ChainKey& sender, const MemberVerifier& verifier) const {
  if (values.size() < kSealedExtraValues) return failure("a sealed model of {} values", values.size());
  if (sender.client != head.sender) return failure("a key of another client than the model's sender");
  MUSTER_TRY(believe(sender, verifier));
  const auto own = std::ranges::find(head.keys, key_.client, &WrappedKey::reader);
  if (own == head.keys.end()) return failure("a model that is sealed for others");
  std::vector<float> model(values.size() - kSealedExtraValues);
  const PublicBytes bound = about(terms_, head, model.size());
  const std::optional<SecretKey> common = shared_with(sender.key, bound, head.sender, key_.client);
  SecretKey content;
  if (!common || !decrypt_once(*common, std::as_bytes(std::span(own->bytes)), bound, content.bytes()) ||
      !decrypt_once(content, std::as_bytes(values), bound,
                    {reinterpret_cast<std::uint8_t*>(model.data()), model.size() * sizeof(float)})) {
    return failure("a model that client {} did not seal for client {} at this place of the chain", head.sender.value,
                   key_.client.value);
  }
  return model;
}

RelayBytes relay_bytes(std::uint64_t members, std::uint64_t visits_down, std::uint64_t visits_up) {
  constexpr std::uint64_t kKey = sizeof(PublicBytes) + kCountedSignatureBytes;
  constexpr std::uint64_t kHead = sizeof(PublicBytes) + kCipherOverhead;
  constexpr std::uint64_t kWrapped = sizeof(WrappedKey::bytes);
  const std::uint64_t readers = std::min<std::uint64_t>(members, kMostReaders + 1);  // the sender included
  return {.up = members * kKey + visits_up * (kHead + readers * kWrapped),
          .down = visits_down * (readers * kKey + kHead + kWrapped)};
}

}  // namespace muster
