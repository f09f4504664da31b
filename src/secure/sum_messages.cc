#include "secure/sum_messages.h"

#include <algorithm>

#include "base/parcel.h"
#include "secure/cipher.h"
#include "secure/key_agreement.h"

namespace muster {
namespace {

constexpr std::size_t kEncryptedBytes = 2 * SecretShare::size() + kCipherOverhead;

using EncryptedArray = std::array<std::byte, kEncryptedBytes>;
using ShareArray = std::array<std::uint8_t, SecretShare::size()>;

void put_keys(const MemberKeys& keys, ParcelWriter& out) {
  out.put(keys.client);
  out.put(keys.cipher_key);
  out.put(keys.mask_key);
  out.put(keys.seed_digest);
  out.put_text(keys.credential);
  out.put_text(keys.signature);
}

MemberKeys take_keys(ParcelReader& in) {
  MemberKeys keys;
  keys.client = in.take<ClientId>();
  keys.cipher_key = in.take<PublicBytes>();
  keys.mask_key = in.take<PublicBytes>();
  keys.seed_digest = in.take<PublicBytes>();
  keys.credential = in.take_text();
  keys.signature = in.take_text();
  if (keys.credential.size() > kMostCredentialBytes || keys.signature.size() > kMostSignatureBytes) in.fail();
  return keys;
}

// The least that one entry of a list takes.
constexpr std::size_t kLeastKeys = sizeof(ClientId) + 3 * sizeof(PublicBytes) + 2 * sizeof(std::uint64_t);
constexpr std::size_t kLeastSignature = sizeof(ClientId) + sizeof(std::uint64_t);

// How many entries follow: no more than there are members.
std::size_t take_entries(ParcelReader& in, std::size_t least, const SumTerms& terms) {
  const std::size_t count = in.take_count(least);
  if (count <= terms.members.size()) return count;
  in.fail();
  return 0;
}

std::string text_of(const SumMessage& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::vector<ClientId> take_ids(ParcelReader& in, const SumTerms& terms) {
  std::vector<ClientId> ids(take_entries(in, sizeof(ClientId), terms));
  for (ClientId& id : ids) id = in.take<ClientId>();
  return ids;
}

// What a message has besides what is counted.
std::size_t uncounted(const MemberKeys& keys) {
  return keys.credential.size() + keys.signature.size() - kCountedSignatureBytes;
}

}  // namespace

MemberName member_name(const SumTerms& terms, std::uint32_t place) {
  return {terms.members[place], terms.names.empty() ? std::string_view() : std::string_view(terms.names[place])};
}

std::size_t counted_bytes(const SumTerms& terms) {
  SumTerms bare = terms;
  bare.run.clear();
  bare.names.clear();
  return pack(bare).size();
}

std::size_t counted_bytes(const MemberKeys& keys) {
  return pack(keys).size() - uncounted(keys);
}

std::size_t counted_bytes(const KeyList& list) {
  std::size_t bytes = pack(list).size();
  for (const MemberKeys& keys : list) bytes -= uncounted(keys);
  return bytes;
}

std::size_t counted_bytes(const OpeningAsk& ask) {
  std::size_t bytes = pack(ask).size();
  for (const SurvivorSignature& entry : ask.signatures) bytes -= entry.signature.size() - kCountedSignatureBytes;
  return bytes;
}

std::size_t most_answer_bytes(std::uint64_t words, std::uint32_t bits, std::uint64_t members) {
  constexpr std::size_t kHead = sizeof(std::uint64_t);
  return std::max({kLeastKeys + kMostCredentialBytes + kMostSignatureBytes,
                   kHead + members * (sizeof(ClientId) + kEncryptedBytes), kHead + words * bits / 8});
}

PublicBytes seed_digest(const SecretKey& seed, const PublicBytes& terms) {
  PublicBytes digest;
  std::ranges::copy(derive_key(seed, "muster digest", terms, 0, 0).bytes(), digest.begin());
  return digest;
}

std::string keys_text(const PublicBytes& terms, const MemberKeys& keys) {
  ParcelWriter out;
  out.put_text("muster: keys of a secure sum");
  out.put(terms);
  out.put(keys.client);
  out.put(keys.cipher_key);
  out.put(keys.mask_key);
  out.put(keys.seed_digest);
  return text_of(std::move(out).finish().words);
}

std::string survivors_text(const PublicBytes& terms, const SurvivorSet& survivors) {
  ParcelWriter out;
  out.put_text("muster: survivors of a secure sum");
  out.put(terms);
  for (const bool survives : survivors) out.put(static_cast<std::uint8_t>(survives));
  return text_of(std::move(out).finish().words);
}

SumMessage pack(const MemberKeys& keys) {
  ParcelWriter out;
  put_keys(keys, out);
  return std::move(out).finish().words;
}

Result<MemberKeys> unpack_keys(SumMessage message) {
  ParcelReader in({std::move(message), {}});
  MemberKeys keys = take_keys(in);
  MUSTER_TRY(in.finish("a member's keys"));
  return keys;
}

SumMessage pack(const KeyList& list) {
  ParcelWriter out;
  out.put(std::uint64_t{list.size()});
  for (const MemberKeys& keys : list) put_keys(keys, out);
  return std::move(out).finish().words;
}

Result<KeyList> unpack_key_list(SumMessage message, const SumTerms& terms) {
  ParcelReader in({std::move(message), {}});
  KeyList list(take_entries(in, kLeastKeys, terms));
  for (MemberKeys& keys : list) keys = take_keys(in);
  MUSTER_TRY(in.finish("a list of keys"));
  return list;
}

SumMessage pack(const ShareList& list) {
  ParcelWriter out;
  out.put(std::uint64_t{list.size()});
  for (const EncryptedShares& shares : list) {
    out.put(shares.client);
    EncryptedArray bytes{};
    MUSTER_CHECK(shares.bytes.size() == bytes.size(), "{} bytes of shares", shares.bytes.size());
    std::ranges::copy(shares.bytes, bytes.begin());
    out.put(bytes);
  }
  return std::move(out).finish().words;
}

Result<ShareList> unpack_share_list(SumMessage message, const SumTerms& terms) {
  ParcelReader in({std::move(message), {}});
  ShareList list(take_entries(in, sizeof(ClientId) + kEncryptedBytes, terms));
  for (EncryptedShares& shares : list) {
    shares.client = in.take<ClientId>();
    const auto bytes = in.take<EncryptedArray>();
    shares.bytes.assign(bytes.begin(), bytes.end());
  }
  MUSTER_TRY(in.finish("a list of shares"));
  return list;
}

SumMessage pack(const Words& words) {
  ParcelWriter out;
  std::visit([&](const auto& values) { out.put_list(std::span(values)); }, words);
  return std::move(out).finish().words;
}

Result<Words> unpack_words(SumMessage message, const SumTerms& terms) {
  const std::size_t expected = sizeof(std::uint64_t) + std::size_t{terms.words} * terms.format.bits / 8;
  if (message.size() != expected) return failure("a vector of {} bytes, want {}", message.size(), expected);
  ParcelReader in({std::move(message), {}});
  Words words;
  if (terms.format.bits == 32) {
    words = in.take_list<std::uint32_t>();
  } else {
    words = in.take_list<std::uint64_t>();
  }
  MUSTER_TRY(in.finish("a masked vector"));
  return words;
}

SumMessage pack(const SurvivorSet& survivors) {
  std::vector<std::uint8_t> packed((survivors.size() + 7) / 8);
  for (std::size_t i = 0; i < survivors.size(); ++i)
    packed[i / 8] |= static_cast<std::uint8_t>(survivors[i] << (i % 8));
  ParcelWriter out;
  out.put_list(std::span<const std::uint8_t>(packed));
  return std::move(out).finish().words;
}

Result<SurvivorSet> unpack_survivors(SumMessage message, const SumTerms& terms) {
  ParcelReader in({std::move(message), {}});
  const auto packed = in.take_list<std::uint8_t>();
  MUSTER_TRY(in.finish("a set of survivors"));
  const std::size_t members = terms.members.size();
  if (packed.size() != (members + 7) / 8 || (members % 8 != 0 && packed.back() >> (members % 8) != 0)) {
    return failure("a set of survivors of another size than {} members", members);
  }
  SurvivorSet survivors(members);
  for (std::size_t i = 0; i < members; ++i) survivors[i] = ((packed[i / 8] >> (i % 8)) & 1) != 0;
  return survivors;
}

SumMessage pack(const OpeningAsk& ask) {
  ParcelWriter out;
  out.put_list(std::span<const ClientId>(ask.in_sum));
  out.put_list(std::span<const ClientId>(ask.gone));
  out.put(std::uint64_t{ask.signatures.size()});
  for (const SurvivorSignature& entry : ask.signatures) {
    out.put(entry.client);
    out.put_text(entry.signature);
  }
  return std::move(out).finish().words;
}

Result<OpeningAsk> unpack_opening_ask(SumMessage message, const SumTerms& terms) {
  ParcelReader in({std::move(message), {}});
  OpeningAsk ask;
  ask.in_sum = take_ids(in, terms);
  ask.gone = take_ids(in, terms);
  ask.signatures.resize(take_entries(in, kLeastSignature, terms));
  for (SurvivorSignature& entry : ask.signatures) {
    entry.client = in.take<ClientId>();
    entry.signature = in.take_text();
    if (entry.signature.size() > kMostSignatureBytes) in.fail();
  }
  MUSTER_TRY(in.finish("a list of secrets to open"));
  return ask;
}

SumMessage pack(const OpeningList& list) {
  ParcelWriter out;
  out.put(std::uint64_t{list.size()});
  for (const OpenedShare& opened : list) {
    out.put(opened.client);
    ShareArray bytes;
    std::ranges::copy(opened.share.bytes(), bytes.begin());
    out.put(bytes);
  }
  return std::move(out).finish().words;
}

Result<OpeningList> unpack_openings(SumMessage message, const SumTerms& terms) {
  ParcelReader in({std::move(message), {}});
  OpeningList list(take_entries(in, sizeof(ClientId) + SecretShare::size(), terms));
  for (OpenedShare& opened : list) {
    opened.client = in.take<ClientId>();
    opened.share = SecretShare(in.take<ShareArray>());
  }
  MUSTER_TRY(in.finish("a list of opened shares"));
  return list;
}

SumMessage pack_signature(std::string_view signature) {
  ParcelWriter out;
  out.put_text(signature);
  return std::move(out).finish().words;
}

Result<std::string> unpack_signature(SumMessage message) {
  ParcelReader in({std::move(message), {}});
  std::string signature = in.take_text();
  MUSTER_TRY(in.finish("a signature"));
  if (signature.size() > kMostSignatureBytes) return failure("a signature of {} bytes", signature.size());
  return signature;
}

}  // namespace muster
