#include "app/bench_sum.h"

#include <openssl/evp.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>

#include "app/bench_clock.h"
#include "base/random.h"
#include "secure/sum_client.h"
#include "secure/sum_server.h"

namespace muster {
namespace {

constexpr std::size_t kCertificateBytes = 704;  // one of `muster pki issue`
constexpr std::uint64_t kMostSamples = 16;      // of a client, so that 32-bit words do for 52 of them

std::span<const std::uint8_t> raw(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

// Ed25519 with keys of its own; the credential is the public key, filled up.
class BenchSigner final : public MemberSigner {
 public:
  BenchSigner() {
    credential_.resize(kCertificateBytes);
    crypto_sign_keypair(reinterpret_cast<std::uint8_t*>(credential_.data()), key_.data());
  }
  Result<std::string> sign(std::string_view message) const override {
    std::string signature(crypto_sign_BYTES, '\0');
    crypto_sign_detached(reinterpret_cast<std::uint8_t*>(signature.data()), nullptr, raw(message).data(),
                         message.size(), key_.data());
    return signature;
  }
  std::string credential() const override { return credential_; }

 private:
  SecretBytes<crypto_sign_SECRETKEYBYTES> key_;
  std::string credential_;
};

class BenchVerifier final : public MemberVerifier {
 public:
  Status verify(const MemberName& member, std::string_view credential, std::string_view message,
                std::string_view signature) const override {
    const bool right = credential.size() == kCertificateBytes && signature.size() == crypto_sign_BYTES &&
                       crypto_sign_verify_detached(raw(signature).data(), raw(message).data(), message.size(),
                                                   raw(credential).data()) == 0;
    return right ? Status() : failure("a signature that is not client {}'s", member.client.value);
  }
};

struct Member {
  BenchSigner signer;
  SumHistory history;
  std::unique_ptr<SumClient> client;
  double seconds = 0;
  std::uint64_t bytes = 0;
};

// Adds the processor time of its life to a sum.
class Charge {
 public:
  explicit Charge(double& seconds) : seconds_(seconds), begun_(cpu_seconds()) {}
  ~Charge() { seconds_ += cpu_seconds() - begun_; }

 private:
  double& seconds_;
  double begun_;
};

class TimedSum {
 public:
  TimedSum(const BenchSum& plan, SumTerms terms)
      : plan_(plan), server_(std::move(terms), verifier_), change_(plan.parameters) {
    Stream stream({.seed = 4, .purpose = Purpose::kBench});
    for (float& value : change_) value = static_cast<float>(stream.uniform() - 0.5);
    for (const ClientId id : server_.terms().members) {
      Member& member = members_[id.value];
      member.client = std::make_unique<SumClient>(id, member.signer, verifier_, SystemKeys());
    }
  }

  Result<BenchSumTimes> run() {
    while (server_.phase() != SumPhase::kDone) {
      const SumPhase phase = server_.phase();
      for (const ClientId id : server_.asked()) {
        if (phase == SumPhase::kInput && drops(id)) continue;
        MUSTER_TRY(ask(phase, id));
      }
      const Charge charge(server_s_);
      MUSTER_TRY(server_.close());
    }
    MUSTER_TRY(check());
    return times();
  }

 private:
  // Spread evenly over the members.
  bool drops(ClientId id) const {
    return std::floor((id.value + 1) * plan_.drops) > std::floor(id.value * plan_.drops);
  }

  // Everybody's differs: the same numbers from another place on, with another weight.
  Result<Words> input_of(ClientId id) const {
    std::vector<float> own(change_.size());
    std::rotate_copy(change_.begin(), change_.begin() + id.value % change_.size(), change_.end(), own.begin());
    return encode_input(server_.terms().format, own, 1 + id.value % kMostSamples);
  }

  Result<SumMessage> answer(SumPhase phase, ClientId id, SumMessage asked, Member& member) const {
    SumClient& client = *member.client;
    switch (phase) {
      case SumPhase::kKeys: {
        MUSTER_ASSIGN(const SumTerms terms, unpack_terms(std::move(asked)));
        return client.join(terms, member.history);
      }
      case SumPhase::kShares:
        return client.share(std::move(asked));
      case SumPhase::kInput: {
        MUSTER_ASSIGN(Words words, input_of(id));
        return client.mask(std::move(asked), std::move(words));
      }
      case SumPhase::kAgreement:
        return client.agree(std::move(asked));
      default:
        return client.open(std::move(asked));
    }
  }

  Status ask(SumPhase phase, ClientId id) {
    Member& member = members_.at(id.value);
    SumMessage message;
    {
      const Charge charge(server_s_);
      message = server_.ask(id);
    }
    member.bytes += message.size();
    {
      const Charge charge(member.seconds);
      MUSTER_ASSIGN(message, answer(phase, id, std::move(message), member));
    }
    member.bytes += message.size();
    const Charge charge(server_s_);
    return server_.take(id, std::move(message));
  }

  Status check() const {
    Words plain = zero_words(plan_.bits, server_.terms().words);
    std::size_t stayed = 0;
    for (const auto& [id, member] : members_) {
      if (drops({id})) continue;
      MUSTER_ASSIGN(const Words words, input_of({id}));
      add_words(plain, words);
      ++stayed;
    }
    if (server_.summed().size() != stayed)
      return failure("{} vectors in the sum, want {}", server_.summed().size(), stayed);
    if (server_.sum() != plain) return failure("the secure sum of {} vectors is not their plain sum", stayed);
    return {};
  }

  BenchSumTimes times() const {
    BenchSumTimes times{.server_s = server_s_};
    std::uint64_t most = 0;
    std::uint64_t stayed = 0;
    for (const auto& [id, member] : members_) {
      if (drops({id})) continue;
      times.slowest_client_s = std::max(times.slowest_client_s, member.seconds);
      times.mean_client_s += member.seconds;
      most = std::max(most, member.bytes);
      ++stayed;
    }
    times.mean_client_s /= static_cast<double>(stayed);
    times.traffic = static_cast<double>(most) / (4.0 * plan_.parameters);
    times.client_masks = server_.terms().holders();
    times.server_masks = stayed;
    const Neighbours graph(plan_.members, plan_.neighbours, digest_of(server_.terms()));
    for (std::uint32_t place = 0; place < plan_.members; ++place) {
      if (!drops(server_.terms().members[place])) continue;
      for (const std::uint32_t peer : graph.of(place))
        times.server_masks += drops(server_.terms().members[peer]) ? 0 : 1;
    }
    return times;
  }

  const BenchSum& plan_;
  BenchVerifier verifier_;
  SumServer server_;
  std::vector<float> change_;
  std::map<std::uint32_t, Member> members_;
  double server_s_ = 0;
};

}  // namespace

Result<BenchSumTimes> time_sum(const BenchSum& sum) {
  prepare_cryptography();
  SumTerms terms{.run = "bench", .round = 1, .neighbours = sum.neighbours, .words = sum.parameters + 1};
  for (std::uint32_t i = 0; i < sum.members; ++i) terms.members.push_back({i});
  terms.threshold = threshold_for(2.0 / 3, terms.holders());
  MUSTER_ASSIGN(terms.format, choose_fixed_point(sum.bits, sum.members, kMostSamples));
  MUSTER_TRY(check_terms(terms));
  return TimedSum(sum, std::move(terms)).run();
}

double cipher_seconds(std::size_t bytes) {
  const std::vector<std::uint8_t> key(32, 1);
  const std::vector<std::uint8_t> from(std::size_t{1} << 16);
  std::vector<std::uint8_t> to(from.size());
  const std::unique_ptr<EVP_CIPHER_CTX, void (*)(EVP_CIPHER_CTX*)> context(EVP_CIPHER_CTX_new(), EVP_CIPHER_CTX_free);
  EVP_EncryptInit_ex(context.get(), EVP_aes_256_ctr(), nullptr, key.data(), to.data());
  const double begun = cpu_seconds();
  for (std::size_t done = 0; done < bytes; done += from.size()) {
    int written = 0;
    EVP_EncryptUpdate(context.get(), to.data(), &written, from.data(),
                      static_cast<int>(std::min(from.size(), bytes - done)));
  }
  return cpu_seconds() - begun;
}

}  // namespace muster
