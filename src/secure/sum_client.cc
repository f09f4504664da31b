#include "secure/sum_client.h"

#include <algorithm>
#include <set>

#include "secure/cipher.h"
#include "secure/key_agreement.h"

namespace muster {
namespace {

// Points at which shares are taken: none is 0.
std::uint32_t point_of(std::uint32_t place) {
  return place + 1;
}

}  // namespace

SumClient::SumClient(ClientId self, const MemberSigner& signer, const MemberVerifier& verifier, SystemKeys keys)
    : self_(self), signer_(signer), verifier_(verifier), keys_(std::make_unique<SystemKeys>(std::move(keys))) {}

SumClient::SumClient(ClientId self, const SimulatedSigner& signer, const SimulatedVerifier& verifier, SeededKeys keys)
    : self_(self), signer_(signer), verifier_(verifier), keys_(std::make_unique<SeededKeys>(std::move(keys))) {}

void SumClient::wipe() {
  cipher_key_.wipe();
  mask_key_.wipe();
  own_seed_.wipe();
  own_share_.wipe();
  peers_.clear();
  phase_ = Phase::kOver;
}

template <typename Step>
Result<SumMessage> SumClient::in_phase(Phase phase, const Step& step) {
  if (phase_ != phase) {
    const bool over = phase_ == Phase::kOver;
    wipe();
    return failure("{}", over ? "the sum is over" : "it asks for phases out of their order");
  }
  Result<SumMessage> answer = step();
  if (!answer) {
    wipe();
    return answer;
  }
  phase_ = static_cast<Phase>(static_cast<int>(phase) + 1);
  if (phase_ == Phase::kOver) wipe();
  return answer;
}

Result<std::uint32_t> SumClient::place_of(ClientId client) const {
  const auto found = std::ranges::lower_bound(terms_.members, client);
  if (found == terms_.members.end() || *found != client) return failure("client {} is no member", client.value);
  return static_cast<std::uint32_t>(found - terms_.members.begin());
}

Result<std::uint32_t> SumClient::neighbour(ClientId client, std::string_view what) const {
  MUSTER_ASSIGN(const std::uint32_t place, place_of(client));
  if (!graph_->are_neighbours(place_, place)) return failure("{} of client {}, no neighbour", what, client.value);
  return place;
}

// The key for shares between here and a peer, of its own for either direction.
SecretKey SumClient::share_key(std::uint32_t peer, bool from_here) const {
  return derive_key(peers_.at(peer).cipher, "muster shares", context_, from_here ? place_ : peer,
                    from_here ? peer : place_);
}

Result<SumMessage> SumClient::join(const SumTerms& terms, SumHistory& history) {
  return in_phase(Phase::kKeys, [&]() -> Result<SumMessage> {
    prepare_cryptography();
    MUSTER_TRY(check_terms(terms));
    terms_ = terms;
    MUSTER_ASSIGN(place_, place_of(self_));
    MUSTER_TRY(history.enter(terms));
    history_ = &history;
    context_ = digest_of(terms);
    graph_.emplace(static_cast<std::uint32_t>(terms.members.size()), terms.neighbours, order_of(terms));
    cipher_key_ = keys_->key();
    mask_key_ = keys_->key();
    own_seed_ = keys_->key();
    MemberKeys own{.client = self_,
                   .cipher_key = public_key(cipher_key_),
                   .mask_key = public_key(mask_key_),
                   .seed_digest = seed_digest(own_seed_, context_)};
    own.credential = signer_.credential();
    MUSTER_ASSIGN(own.signature, signer_.sign(keys_text(context_, own)));
    return pack(own);
  });
}

Result<SumMessage> SumClient::share(SumMessage key_list) {
  return in_phase(Phase::kShares, [&] { return do_share(std::move(key_list)); });
}

Result<SumMessage> SumClient::do_share(SumMessage message) {
  MUSTER_ASSIGN(KeyList list, unpack_key_list(std::move(message), terms_));
  std::set<PublicBytes> seen{public_key(cipher_key_), public_key(mask_key_)};
  for (MemberKeys& keys : list) {
    MUSTER_ASSIGN(const std::uint32_t place, neighbour(keys.client, "keys"));
    MUSTER_TRY(
        verifier_.verify(member_name(terms_, place), keys.credential, keys_text(context_, keys), keys.signature));
    if (!seen.insert(keys.cipher_key).second || !seen.insert(keys.mask_key).second) {
      return failure("a key of client {} is there twice", keys.client.value);
    }
    const std::optional<SecretKey> cipher = agree_on_key(cipher_key_, keys.cipher_key);
    const std::optional<SecretKey> mask = agree_on_key(mask_key_, keys.mask_key);
    const ClientId client = keys.client;
    if (!cipher || !mask) return failure("a key of client {} that is of no use", client.value);
    if (!peers_.try_emplace(place, Peer{std::move(keys), *cipher, *mask}).second) {
      return failure("it names client {} twice", client.value);
    }
  }
  if (peers_.size() + 1 < terms_.threshold) {
    return failure("keys of {} members, fewer than the threshold of {}", peers_.size() + 1, terms_.threshold);
  }

  std::vector<std::uint32_t> points{point_of(place_)};
  for (const auto& [place, peer] : peers_) points.push_back(point_of(place));
  const std::vector<SecretShare> of_seed = split_key(own_seed_, terms_.threshold, points, *keys_);
  const std::vector<SecretShare> of_key = split_key(mask_key_, terms_.threshold, points, *keys_);
  own_share_ = of_seed[0];
  ShareList answer;
  std::size_t next = 1;
  for (const auto& [place, peer] : peers_) {
    SecretBytes<2 * SecretShare::size()> both;
    std::ranges::copy(of_seed[next].bytes(), both.data());
    std::ranges::copy(of_key[next].bytes(), both.data() + SecretShare::size());
    ++next;
    answer.push_back({peer.keys.client, encrypt_once(share_key(place, true), both.bytes(), context_)});
  }
  return pack(answer);
}

Result<SumMessage> SumClient::mask(SumMessage shares, Words input) {
  return in_phase(Phase::kInput, [&] { return do_mask(std::move(shares), std::move(input)); });
}

Result<SumMessage> SumClient::do_mask(SumMessage message, Words input) {
  if (bits_of(input) != terms_.format.bits || count_of(input) != terms_.words) {
    return failure("an own vector of {} words of {} bits, want {} of {}", count_of(input), bits_of(input), terms_.words,
                   terms_.format.bits);
  }
  MUSTER_ASSIGN(ShareList list, unpack_share_list(std::move(message), terms_));
  std::size_t holders = 1;
  for (EncryptedShares& shares : list) {
    MUSTER_ASSIGN(const std::uint32_t place, neighbour(shares.client, "shares"));
    const auto peer = peers_.find(place);
    if (peer == peers_.end()) return failure("shares of client {}, whose keys it never showed", shares.client.value);
    if (peer->second.shares) return failure("it names client {} twice", shares.client.value);
    peer->second.shares = std::move(shares.bytes);
    ++holders;
  }
  if (holders < terms_.threshold) {
    return failure("shares of {} members, fewer than the threshold of {}", holders, terms_.threshold);
  }
  // Who sent no shares has no mask with anybody.
  for (const auto& [place, peer] : peers_) {
    if (!peer.shares) continue;
    add_mask(input, derive_key(peer.mask, "muster pair", context_, std::min(place, place_), std::max(place, place_)),
             sign_of_pair(place_, place));
  }
  add_mask(input, derive_key(own_seed_, "muster own", context_, place_, place_), MaskSign::kPlus);
  return pack(input);
}

Result<SumMessage> SumClient::agree(SumMessage survivors) {
  return in_phase(Phase::kAgreement, [&] { return do_agree(std::move(survivors)); });
}

Result<SumMessage> SumClient::do_agree(SumMessage message) {
  MUSTER_ASSIGN(survivors_, unpack_survivors(std::move(message), terms_));
  if (!survivors_[place_]) return failure("it names this client dead, which has answered");
  std::uint32_t holders = 1;
  for (const std::uint32_t place : graph_->of(place_)) {
    if (!survivors_[place]) continue;
    const auto peer = peers_.find(place);
    if (peer == peers_.end() || !peer->second.shares) {
      return failure("client {} survived without having sent shares", terms_.members[place].value);
    }
    ++holders;
  }
  if (holders < terms_.threshold) {
    return failure("{} survivors, fewer than the threshold of {}", holders, terms_.threshold);
  }
  MUSTER_TRY(history_->sign(terms_, survivors_));
  MUSTER_ASSIGN(const std::string signature, signer_.sign(survivors_text(context_, survivors_)));
  return pack_signature(signature);
}

Result<SumMessage> SumClient::open(SumMessage ask) {
  return in_phase(Phase::kOpening, [&] { return do_open(std::move(ask)); });
}

Result<SumMessage> SumClient::do_open(SumMessage message) {
  MUSTER_ASSIGN(const OpeningAsk ask, unpack_opening_ask(std::move(message), terms_));
  std::map<std::uint32_t, bool> asked;  // place, and whether it is said to be in the sum
  for (const bool in_sum : {true, false}) {
    for (const ClientId client : in_sum ? ask.in_sum : ask.gone) {
      if (client == self_ && !in_sum) return failure("it names this client dead, which has answered");
      std::uint32_t place = place_;
      if (client != self_) {
        MUSTER_ASSIGN(place, neighbour(client, "a secret"));
      }
      const auto [known, first] = asked.try_emplace(place, in_sum);
      if (!first && known->second == in_sum) return failure("it names client {} twice", client.value);
      if (!first) return failure("it asks for both secrets of client {}", client.value);
      if (survivors_[place] != in_sum) {
        return failure("it says of client {} another thing than was signed", client.value);
      }
    }
  }

  const std::string text = survivors_text(context_, survivors_);
  std::set<std::uint32_t> signers{place_};
  for (const SurvivorSignature& entry : ask.signatures) {
    MUSTER_ASSIGN(const std::uint32_t place, neighbour(entry.client, "a signature"));
    const auto peer = peers_.find(place);
    if (peer == peers_.end())
      return failure("a signature of client {}, whose keys it never showed", entry.client.value);
    if (!signers.insert(place).second) return failure("it names client {} twice", entry.client.value);
    if (!verifier_.verify(member_name(terms_, place), peer->second.keys.credential, text, entry.signature)) {
      return failure("it showed client {} another set of survivors", entry.client.value);
    }
  }
  if (signers.size() < terms_.threshold) {
    return failure("{} members signed the set of survivors, fewer than the threshold of {}", signers.size(),
                   terms_.threshold);
  }

  OpeningList answer;
  for (const auto& [place, in_sum] : asked) {
    if (place == place_) {
      answer.push_back({self_, own_share_});
      continue;
    }
    const auto peer = peers_.find(place);
    if (peer == peers_.end() || !peer->second.shares) continue;  // it never had a mask
    SecretBytes<2 * SecretShare::size()> both;
    // A member that sent something else than shares costs this one share, and nobody's secret.
    if (!decrypt_once(share_key(place, false), *peer->second.shares, context_, both.bytes())) continue;
    const auto share = both.bytes().subspan(in_sum ? 0 : SecretShare::size(), SecretShare::size());
    answer.push_back({peer->second.keys.client, SecretShare(share.first<SecretShare::size()>())});
  }
  return pack(answer);
}

}  // namespace muster
