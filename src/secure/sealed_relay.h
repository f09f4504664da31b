// Sealed relay: how the model of a chain's member reaches whoever is next through a host that cannot read it. Every
// member has a key pair for one chain, signed as it signs for itself. A model is encrypted once, with a key of its own;
// that key is wrapped for each later member, so that the host can skip those that are gone, and for the sender, who can
// be asked to open it if all of them are. What is sealed is bound to run, round, group, part and sender, and to the
// pair of keys of sender and reader, so that nobody outside of the chain can have made it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "secure/cipher.h"
#include "secure/key_source.h"
#include "secure/member_identity.h"

namespace muster {

// Readers of one model, besides its sender: who could skip more than these is not worth its bytes.
inline constexpr std::size_t kMostReaders = 64;
// A sealed model is as long as the model, and a tag longer: in values of four bytes, whose bits mean nothing.
inline constexpr std::size_t kSealedExtraValues = kCipherOverhead / sizeof(float);

struct ChainTerms {
  std::string run;
  std::uint32_t round = 0;
  GroupId group;
  bool operator==(const ChainTerms&) const = default;
};

// The public half of a member's key pair, and who vouches for it.
struct ChainKey {
  ClientId client;
  std::string name;  // of one with data of its own, as in its certificate; "": it is known by its number
  PublicBytes key{};
  std::string credential;
  std::string signature;
};

struct WrappedKey {
  ClientId reader;
  std::array<std::uint8_t, SecretKey::size() + kCipherOverhead> bytes{};
};

// What goes with a sealed model.
struct SealedHead {
  ClientId sender;
  std::uint32_t part = 0;
  PublicBytes salt{};  // so that no key encrypts twice, also if a member is asked twice
  std::vector<WrappedKey> keys;
};

struct SealedModel {
  SealedHead head;
  std::vector<float> values;
};

// What a member is told of the chain at its turn.
struct ChainVisit {
  std::vector<ChainKey> readers;   // later members; none: the chain ends here, and it answers openly
  std::optional<SealedHead> from;  // of the model that it goes on from; none: the model is not sealed
  std::optional<ChainKey> sender;  // who sealed that
  bool open = false;               // it is asked for the model itself, and not to train it
};

// A member's side of one chain. Thread-safe once it is made.
class ChainMember {
 public:
  [[nodiscard]] static Result<ChainMember> make(ChainTerms terms, const MemberName& who, KeySource& keys,
                                                const MemberSigner& signer);

  [[nodiscard]] const ChainTerms& terms() const { return terms_; }
  [[nodiscard]] const ChainKey& key() const { return key_; }

  // For itself and the readers, but for those whose keys are not their own: they have no part in the chain from here
  // on. Fails if there are too many.
  [[nodiscard]] Result<SealedModel> seal(std::uint32_t part, std::span<const float> model,
                                         std::span<const ChainKey> readers, KeySource& keys,
                                         const MemberVerifier& verifier) const;
  // Fails unless `sender` is the key of a member, who sealed exactly this in this chain, for this reader.
  [[nodiscard]] Result<std::vector<float>> open(const SealedHead& head, std::span<const float> values,
                                                const ChainKey& sender, const MemberVerifier& verifier) const;

 private:
  ChainMember(ChainTerms terms, SecretKey secret) : terms_(std::move(terms)), secret_(secret) {}
  [[nodiscard]] std::optional<SecretKey> shared_with(const PublicBytes& other, const PublicBytes& about,
                                                     ClientId sender, ClientId reader) const;
  [[nodiscard]] Status believe(const ChainKey& key, const MemberVerifier& verifier) const;

  ChainTerms terms_;
  SecretKey secret_;
  ChainKey key_;
};

// Bytes of one chain on top of those of its models, as it is counted: every one of `members` sends its key (32) with a
// signature (64, whatever kind it is); at each of `visits` of them it is sent the keys of its readers and of the
// sender, and salt (32), tag (16) and a wrapped key (48); and answers with salt, tag and a wrapped key for each reader
// and itself. Certificates, like other headers, are not counted.
struct RelayBytes {
  std::uint64_t up = 0;
  std::uint64_t down = 0;
};
[[nodiscard]] RelayBytes relay_bytes(std::uint64_t members, std::uint64_t visits_down, std::uint64_t visits_up);

}  // namespace muster
