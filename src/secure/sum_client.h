// SumClient: one member of one secure sum (Bonawitz et al. 2017), without sockets: what the server says in, what to
// answer out. It believes signatures of members and nothing that the server says: whatever could open its vector is
// refused, with the reason, and then everything secret is wiped and nothing answered any more.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "secure/fixed_point.h"
#include "secure/key_source.h"
#include "secure/member_identity.h"
#include "secure/neighbours.h"
#include "secure/sum_history.h"
#include "secure/sum_messages.h"
#include "secure/sum_terms.h"

namespace muster {

class SumClient {
 public:
  // Signer and verifier are borrowed. Keys that repeat go with identities that are simulated, and with no others.
  SumClient(ClientId self, const MemberSigner& signer, const MemberVerifier& verifier, SystemKeys keys);
  SumClient(ClientId self, const SimulatedSigner& signer, const SimulatedVerifier& verifier, SeededKeys keys);

  // Each phase once, in this order. A failure is a refusal, and ends it. The history is borrowed until the sum is over.
  [[nodiscard]] Result<SumMessage> join(const SumTerms& terms, SumHistory& history);
  [[nodiscard]] Result<SumMessage> share(SumMessage key_list);
  // `input`: as encode_input() gives it for the format of the terms.
  [[nodiscard]] Result<SumMessage> mask(SumMessage shares, Words input);
  [[nodiscard]] Result<SumMessage> agree(SumMessage survivors);
  [[nodiscard]] Result<SumMessage> open(SumMessage ask);

  [[nodiscard]] const SumTerms& terms() const { return terms_; }

 private:
  struct Peer {
    MemberKeys keys;
    SecretKey cipher;  // what the keys of both have in common
    SecretKey mask;
    std::optional<std::vector<std::byte>> shares = {};  // what it encrypted to this client
  };
  enum class Phase { kKeys, kShares, kInput, kAgreement, kOpening, kOver };

  // Runs `step` if it is the turn of `phase`; wipes everything if it fails.
  template <typename Step>
  Result<SumMessage> in_phase(Phase phase, const Step& step);
  void wipe();
  [[nodiscard]] Result<std::uint32_t> place_of(ClientId client) const;
  [[nodiscard]] Result<std::uint32_t> neighbour(ClientId client, std::string_view what) const;
  [[nodiscard]] SecretKey share_key(std::uint32_t peer, bool from_here) const;
  [[nodiscard]] Result<SumMessage> do_share(SumMessage message);
  [[nodiscard]] Result<SumMessage> do_mask(SumMessage message, Words input);
  [[nodiscard]] Result<SumMessage> do_agree(SumMessage message);
  [[nodiscard]] Result<SumMessage> do_open(SumMessage message);

  ClientId self_;
  const MemberSigner& signer_;
  const MemberVerifier& verifier_;
  std::unique_ptr<KeySource> keys_;
  Phase phase_ = Phase::kKeys;
  SumTerms terms_;
  SumHistory* history_ = nullptr;
  PublicBytes context_ = {};  // digest of the terms
  std::optional<Neighbours> graph_;
  std::uint32_t place_ = 0;  // its own among the members
  SecretKey cipher_key_;
  SecretKey mask_key_;
  SecretKey own_seed_;                   // of the mask that is nobody else's
  SecretShare own_share_;                // of that seed
  std::map<std::uint32_t, Peer> peers_;  // neighbours with keys, by place
  SurvivorSet survivors_;                // as it signed them
};

}  // namespace muster
