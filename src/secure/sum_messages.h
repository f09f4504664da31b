// What members of a secure sum and its server say to each other, phase by phase. Reading trusts nothing: whatever is
// missing, too long or out of range is an error before anything is allocated for it. Clients are meant by their ids.
//
//   phase       the server says    a member answers
//   keys        SumTerms           MemberKeys
//   shares      KeyList            ShareList (its own, to each of its neighbours)
//   input       ShareList          Words     (those of its neighbours, to it)
//   agreement   SurvivorSet        its signature of it
//   opening     OpeningAsk         OpeningList
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "secure/mask.h"
#include "secure/member_identity.h"
#include "secure/secret_shares.h"
#include "secure/sum_terms.h"

namespace muster {

struct MemberKeys {
  ClientId client;
  PublicBytes cipher_key = {};   // shares are encrypted to it
  PublicBytes mask_key = {};     // pairs of members have a mask by it
  PublicBytes seed_digest = {};  // of the seed of its own mask: shares of another one are noticed
  std::string credential;        // of the member, and its signature of the keys
  std::string signature;
};

using KeyList = std::vector<MemberKeys>;

// Shares of both secrets of one member for another, encrypted.
struct EncryptedShares {
  ClientId client;  // to whom, or from whom
  std::vector<std::byte> bytes;
};
using ShareList = std::vector<EncryptedShares>;

// Of each member, in the order of the terms: whether its vector is in the sum.
using SurvivorSet = std::vector<bool>;

struct SurvivorSignature {
  ClientId client;
  std::string signature;
};

// Which secret of whom is to be opened: the seed of the own mask of those whose vector is in the sum, the key of the
// masks in pairs of those who went before. And who else signed the set of survivors.
struct OpeningAsk {
  std::vector<ClientId> in_sum;
  std::vector<ClientId> gone;
  std::vector<SurvivorSignature> signatures;
};

struct OpenedShare {
  ClientId client;  // whose secret
  SecretShare share;
};
using OpeningList = std::vector<OpenedShare>;

// Whom the credential of the member at this place must speak for. Borrows from the terms.
[[nodiscard]] MemberName member_name(const SumTerms& terms, std::uint32_t place);

[[nodiscard]] PublicBytes seed_digest(const SecretKey& seed, const PublicBytes& terms);

// The texts that members sign.
[[nodiscard]] std::string keys_text(const PublicBytes& terms, const MemberKeys& keys);
[[nodiscard]] std::string survivors_text(const PublicBytes& terms, const SurvivorSet& survivors);

[[nodiscard]] SumMessage pack(const MemberKeys& keys);
[[nodiscard]] SumMessage pack(const KeyList& list);
[[nodiscard]] SumMessage pack(const ShareList& list);
[[nodiscard]] SumMessage pack(const Words& words);
[[nodiscard]] SumMessage pack(const SurvivorSet& survivors);
[[nodiscard]] SumMessage pack(const OpeningAsk& ask);
[[nodiscard]] SumMessage pack(const OpeningList& list);
[[nodiscard]] SumMessage pack_signature(std::string_view signature);

// What a record counts of a message, so that a run has one record wherever it runs: all of it but the names of the run
// and of its members, and credentials; a signature counts as one of a simulation.
[[nodiscard]] std::size_t counted_bytes(const SumTerms& terms);
[[nodiscard]] std::size_t counted_bytes(const MemberKeys& keys);
[[nodiscard]] std::size_t counted_bytes(const KeyList& list);
[[nodiscard]] std::size_t counted_bytes(const OpeningAsk& ask);

// The longest answer that a member of a sum has, in any phase.
[[nodiscard]] std::size_t most_answer_bytes(std::uint64_t words, std::uint32_t bits, std::uint64_t members);

// Of a sum with these terms.
[[nodiscard]] Result<MemberKeys> unpack_keys(SumMessage message);
[[nodiscard]] Result<KeyList> unpack_key_list(SumMessage message, const SumTerms& terms);
[[nodiscard]] Result<ShareList> unpack_share_list(SumMessage message, const SumTerms& terms);
[[nodiscard]] Result<Words> unpack_words(SumMessage message, const SumTerms& terms);
[[nodiscard]] Result<SurvivorSet> unpack_survivors(SumMessage message, const SumTerms& terms);
[[nodiscard]] Result<OpeningAsk> unpack_opening_ask(SumMessage message, const SumTerms& terms);
[[nodiscard]] Result<OpeningList> unpack_openings(SumMessage message, const SumTerms& terms);
[[nodiscard]] Result<std::string> unpack_signature(SumMessage message);

}  // namespace muster
