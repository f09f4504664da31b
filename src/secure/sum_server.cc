#include "secure/sum_server.h"

#include <algorithm>

#include "secure/key_agreement.h"

namespace muster {
namespace {

// Of what is counted as it is.
template <typename T>
std::size_t counted_bytes(const T& said) {
  return pack(said).size();
}

}  // namespace

SumServer::SumServer(SumTerms terms, const MemberVerifier& verifier)
    : terms_(std::move(terms)),
      verifier_(verifier),
      context_(digest_of(terms_)),
      graph_(static_cast<std::uint32_t>(terms_.members.size()), terms_.neighbours, order_of(terms_)),
      members_(terms_.members.size()),
      sum_(zero_words(terms_.format.bits, terms_.words)) {
  prepare_cryptography();
  for (std::uint32_t place = 0; place < members_.size(); ++place) neighbours_.push_back(graph_.of(place));
}

std::uint32_t SumServer::place_of(ClientId client) const {
  const auto found = std::ranges::lower_bound(terms_.members, client);
  MUSTER_CHECK(found != terms_.members.end() && *found == client, "client {} is no member", client.value);
  return static_cast<std::uint32_t>(found - terms_.members.begin());
}

std::vector<ClientId> SumServer::asked() const {
  std::vector<ClientId> clients;
  for (std::size_t i = 0; i < members_.size(); ++i) {
    if (!members_[i].lost) clients.push_back(terms_.members[i]);
  }
  return clients;
}

template <typename Said>
SumMessage SumServer::say(const Said& said) {
  bytes_down_ += counted_bytes(said);
  return pack(said);
}

SumMessage SumServer::ask(ClientId client) {
  const std::uint32_t place = place_of(client);
  switch (phase_) {
    case SumPhase::kKeys:
      return say(terms_);
    case SumPhase::kShares: {
      KeyList list;
      for (const std::uint32_t peer : neighbours_[place]) {
        if (began(members_[peer])) list.push_back(members_[peer].keys);
      }
      return say(list);
    }
    case SumPhase::kInput: {
      ShareList list;
      for (const std::uint32_t peer : neighbours_[place]) {
        const auto shares = members_[peer].shares.find(place);
        if (began(members_[peer]) && shares != members_[peer].shares.end()) {
          list.push_back({terms_.members[peer], shares->second});
        }
      }
      return say(list);
    }
    case SumPhase::kAgreement: {
      SurvivorSet survivors;
      for (const Member& member : members_) survivors.push_back(member.in_sum);
      return say(survivors);
    }
    case SumPhase::kOpening: {
      OpeningAsk list;
      list.in_sum.push_back(client);
      for (const std::uint32_t peer : neighbours_[place]) {
        const Member& member = members_[peer];
        if (!member.shared) continue;
        (member.in_sum ? list.in_sum : list.gone).push_back(terms_.members[peer]);
        if (began(member)) list.signatures.push_back({terms_.members[peer], member.signature});
      }
      return say(list);
    }
    case SumPhase::kDone:
      break;
  }
  MUSTER_CHECK(false, "nobody is asked when the sum is there");
  return {};
}

Status SumServer::take(ClientId client, SumMessage answer) {
  const std::uint32_t place = place_of(client);
  Member& member = members_[place];
  if (member.lost || member.answered) return failure("client {} answers what it was not asked", client.value);
  bytes_up_ += answer.size();
  if (Status fault = accept(place, std::move(answer)); !fault) {
    member.lost = phase_;
    return std::move(fault).error().within(fmt::format("client {}", client.value));
  }
  member.answered = true;
  return {};
}

// Keys that others would refuse, and the whole sum with them: it is their owner that is left out.
Status SumServer::publish(const MemberKeys& keys) {
  if (!is_useful(keys.cipher_key) || !is_useful(keys.mask_key)) return failure("a key that is of no use");
  const bool fresh =
      keys.cipher_key != keys.mask_key && !published_.contains(keys.cipher_key) && !published_.contains(keys.mask_key);
  if (!fresh) return failure("a key that is there already");
  published_.insert({keys.cipher_key, keys.mask_key});
  return {};
}

Status SumServer::accept(std::uint32_t place, SumMessage answer) {
  Member& member = members_[place];
  switch (phase_) {
    case SumPhase::kKeys: {
      MUSTER_ASSIGN(MemberKeys keys, unpack_keys(std::move(answer)));
      if (keys.client != terms_.members[place]) return failure("keys of client {}", keys.client.value);
      bytes_up_ -= pack(keys).size() - muster::counted_bytes(keys);
      MUSTER_TRY(
          verifier_.verify(member_name(terms_, place), keys.credential, keys_text(context_, keys), keys.signature));
      MUSTER_TRY(publish(keys));
      member.keys = std::move(keys);
      return {};
    }
    case SumPhase::kShares: {
      MUSTER_ASSIGN(ShareList list, unpack_share_list(std::move(answer), terms_));
      for (EncryptedShares& shares : list) {
        const auto peer = std::ranges::lower_bound(terms_.members, shares.client);
        if (peer == terms_.members.end() || *peer != shares.client)
          return failure("shares for somebody who is no member");
        const auto to = static_cast<std::uint32_t>(peer - terms_.members.begin());
        if (!graph_.are_neighbours(place, to) || !member.shares.try_emplace(to, std::move(shares.bytes)).second) {
          return failure("shares for client {}, twice or unasked", shares.client.value);
        }
      }
      for (const std::uint32_t peer : neighbours_[place]) {
        if (!members_[peer].lost && !member.shares.contains(peer)) {
          return failure("no shares for client {}", terms_.members[peer].value);
        }
      }
      return {};
    }
    case SumPhase::kInput: {
      MUSTER_ASSIGN(const Words words, unpack_words(std::move(answer), terms_));
      add_words(sum_, words);
      member.in_sum = true;
      return {};
    }
    case SumPhase::kAgreement: {
      MUSTER_ASSIGN(member.signature, unpack_signature(std::move(answer)));
      bytes_up_ -= member.signature.size() - kCountedSignatureBytes;
      SurvivorSet survivors;
      for (const Member& one : members_) survivors.push_back(one.in_sum);
      return verifier_.verify(member_name(terms_, place), member.keys.credential, survivors_text(context_, survivors),
                              member.signature);
    }
    case SumPhase::kOpening: {
      MUSTER_ASSIGN(OpeningList list, unpack_openings(std::move(answer), terms_));
      for (OpenedShare& opened : list) {
        const auto peer = std::ranges::lower_bound(terms_.members, opened.client);
        if (peer == terms_.members.end() || *peer != opened.client)
          return failure("a share of somebody who is no member");
        const auto of = static_cast<std::uint32_t>(peer - terms_.members.begin());
        if (of != place && !graph_.are_neighbours(place, of))
          return failure("a share of client {}", opened.client.value);
        member.opened.insert_or_assign(of, std::move(opened.share));
      }
      return {};
    }
    case SumPhase::kDone:
      break;
  }
  return failure("an answer when the sum is there");
}

std::uint32_t SumServer::holders_left(std::uint32_t place) const {
  std::uint32_t left = members_[place].lost ? 0 : 1;
  for (const std::uint32_t peer : neighbours_[place]) left += members_[peer].lost ? 0 : 1;
  return left;
}

// Before there are masks, a member with too few neighbours left is left out; that may leave others with too few.
void SumServer::lose_those_alone() {
  for (bool again = true; again;) {
    again = false;
    for (std::uint32_t place = 0; place < members_.size(); ++place) {
      if (members_[place].lost || holders_left(place) >= terms_.threshold) continue;
      members_[place].lost = phase_;
      again = true;
    }
  }
}

Status SumServer::check_openable() const {
  for (std::uint32_t place = 0; place < members_.size(); ++place) {
    if (!members_[place].shared || holders_left(place) >= terms_.threshold) continue;
    return failure("abandoned in phase {}: {} of {} holders of client {}'s secrets are left, want {}", name(phase_),
                   holders_left(place), terms_.holders(), terms_.members[place].value, terms_.threshold);
  }
  return {};
}

Status SumServer::close() {
  MUSTER_CHECK(phase_ != SumPhase::kDone, "the sum is there");
  for (Member& member : members_) {
    if (!member.answered && !member.lost) member.lost = phase_;
    member.answered = false;
  }
  if (phase_ == SumPhase::kKeys || phase_ == SumPhase::kShares) lose_those_alone();
  const auto left =
      static_cast<std::uint32_t>(std::ranges::count_if(members_, [](const Member& one) { return !one.lost; }));
  if (left < terms_.threshold) {
    return failure("abandoned in phase {}: {} of {} members are left, want {}", name(phase_), left, members_.size(),
                   terms_.threshold);
  }
  if (phase_ == SumPhase::kShares) {
    for (Member& member : members_) member.shared = !member.lost;
  } else if (phase_ != SumPhase::kKeys) {
    MUSTER_TRY(check_openable());
  }
  if (phase_ == SumPhase::kOpening) MUSTER_TRY(unmask());
  phase_ = static_cast<SumPhase>(static_cast<int>(phase_) + 1);
  return {};
}

// The seed of a member whose vector is in the sum, the key of one whose is not.
Result<SecretKey> SumServer::secret_of(std::uint32_t place) {
  std::vector<std::uint32_t> points;
  std::vector<SecretShare> shares;
  const auto look_at = [&](std::uint32_t holder) {
    const auto opened = members_[holder].opened.find(place);
    if (opened == members_[holder].opened.end() || points.size() == terms_.threshold) return;
    points.push_back(holder + 1);
    shares.push_back(opened->second);
  };
  look_at(place);
  for (const std::uint32_t peer : neighbours_[place]) look_at(peer);
  const ClientId client = terms_.members[place];
  if (points.size() < terms_.threshold) {
    return failure("abandoned in phase opening: {} shares of client {}'s secret, want {}", points.size(), client.value,
                   terms_.threshold);
  }
  if (joiner_.empty() || joiner_[0].points() != points) joiner_ = {ShareJoiner(points)};
  Result<SecretKey> secret = joiner_[0].join(shares);
  const Member& member = members_[place];
  const bool right = secret && (member.in_sum ? seed_digest(*secret, context_) == member.keys.seed_digest
                                              : public_key(*secret) == member.keys.mask_key);
  if (!right) return failure("abandoned in phase opening: wrong shares of client {}'s secret", client.value);
  return secret;
}

Status SumServer::unmask() {
  for (std::uint32_t place = 0; place < members_.size(); ++place) {
    const Member& member = members_[place];
    if (!member.shared) continue;
    MUSTER_ASSIGN(const SecretKey secret, secret_of(place));
    if (member.in_sum) {
      add_mask(sum_, derive_key(secret, "muster own", context_, place, place), MaskSign::kMinus);
      continue;
    }
    for (const std::uint32_t peer : neighbours_[place]) {
      if (!members_[peer].in_sum) continue;
      const std::optional<SecretKey> common = agree_on_key(secret, members_[peer].keys.mask_key);
      if (!common)
        return failure("abandoned in phase opening: a key of client {} is of no use", terms_.members[peer].value);
      add_mask(sum_, derive_key(*common, "muster pair", context_, std::min(place, peer), std::max(place, peer)),
               opposite(sign_of_pair(peer, place)));
    }
  }
  for (Member& member : members_) member.opened.clear();
  return {};
}

const Words& SumServer::sum() const {
  MUSTER_CHECK(phase_ == SumPhase::kDone, "the sum is masked");
  return sum_;
}

std::vector<ClientId> SumServer::summed() const {
  std::vector<ClientId> clients;
  for (std::size_t i = 0; i < members_.size(); ++i) {
    if (members_[i].in_sum) clients.push_back(terms_.members[i]);
  }
  return clients;
}

std::optional<SumPhase> SumServer::lost_in(ClientId client) const {
  return members_[place_of(client)].lost;
}

}  // namespace muster
