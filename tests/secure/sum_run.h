// A whole secure sum in one place: members that answer, until the phase in which they are lost, and a server.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "secure/sum_client.h"
#include "secure/sum_server.h"

namespace muster {

inline SumTerms terms_of(std::uint32_t members, std::uint32_t words, std::uint32_t bits = 32,
                         std::uint32_t neighbours = 0) {
  SumTerms terms{.run = "test", .round = 1, .group = {7}, .neighbours = neighbours, .words = words};
  for (std::uint32_t i = 0; i < members; ++i) terms.members.push_back({10 + 3 * i});
  terms.threshold = threshold_for(2.0 / 3, terms.holders());
  terms.format = *choose_fixed_point(bits, members, 5);
  return terms;
}

// Answers what a client says in a phase, changed on its way or not; nothing: it is lost.
using OnItsWay = std::function<std::optional<SumMessage>(SumPhase phase, ClientId client, SumMessage message)>;

class SumRun {
 public:
  SumRun(SumTerms terms, std::uint64_t seed = 1) : verifier_(seed), server_(terms, verifier_) {
    for (const ClientId id : terms.members) {
      signers_.push_back(std::make_unique<SimulatedSigner>(seed, id));
      clients_.emplace(id.value, SumClient(id, *signers_.back(), verifier_,
                                           SeededKeys({.seed = seed, .round = terms.round, .client = id.value})));
    }
  }

  // Small vectors that differ, and their plain sum.
  Words input_of(ClientId id) const {
    const SumTerms& terms = server_.terms();
    std::vector<float> values(terms.words - 1);
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = 0.25f * static_cast<float>((id.value * 31 + i * 17) % 129) - 16.0f;
    }
    return *encode_input(terms.format, values, 1 + id.value % 5);
  }
  Words plain_sum(const std::vector<ClientId>& ids) const {
    Words sum = zero_words(server_.terms().format.bits, server_.terms().words);
    for (const ClientId id : ids) add_words(sum, input_of(id));
    return sum;
  }

  // What a member says to what the server says.
  Result<SumMessage> answer(SumPhase phase, ClientId id, SumMessage asked) {
    SumClient& client = clients_.at(id.value);
    switch (phase) {
      case SumPhase::kKeys: {
        MUSTER_ASSIGN(const SumTerms terms, unpack_terms(std::move(asked)));
        return client.join(terms, histories_[id.value]);
      }
      case SumPhase::kShares:
        return client.share(std::move(asked));
      case SumPhase::kInput:
        return client.mask(std::move(asked), input_of(id));
      case SumPhase::kAgreement:
        return client.agree(std::move(asked));
      default:
        return client.open(std::move(asked));
    }
  }

  // `lost`: in which phase a client answers no more.
  Status run(const std::map<std::uint32_t, SumPhase>& lost = {}, const OnItsWay& to_client = {},
             const OnItsWay& to_server = {}) {
    while (server_.phase() != SumPhase::kDone) {
      const SumPhase phase = server_.phase();
      for (const ClientId id : server_.asked()) {
        const auto found = lost.find(id.value);
        if (found != lost.end() && found->second <= phase) continue;
        std::optional<SumMessage> message = server_.ask(id);
        if (to_client) message = to_client(phase, id, std::move(*message));
        if (!message) continue;
        Result<SumMessage> said = answer(phase, id, std::move(*message));
        if (!said) {
          refused_.emplace(id.value, said.error().message);
          continue;
        }
        bytes_ += said->size();
        message = std::move(*said);
        if (to_server) message = to_server(phase, id, std::move(*message));
        if (!message) continue;
        if (Status taken = server_.take(id, std::move(*message)); !taken) unusable_.push_back(taken.error().message);
      }
      MUSTER_TRY(server_.close());
    }
    return {};
  }

  SimulatedVerifier verifier_;
  SumServer server_;
  std::vector<std::unique_ptr<SimulatedSigner>> signers_;
  std::map<std::uint32_t, SumClient> clients_;
  std::map<std::uint32_t, SumHistory> histories_;
  std::map<std::uint32_t, std::string> refused_;  // why a client refused the server
  std::vector<std::string> unusable_;             // why the server could not use an answer
  std::uint64_t bytes_ = 0;
};

}  // namespace muster
