// Whatever a server says to a member of a secure sum, and whatever a member says to the server, in every phase: read
// within bounds, answered or refused, and nothing is opened that was not there.
#include "base/check.h"
#include "secure/sum_client.h"
#include "secure/sum_server.h"

namespace muster {
namespace {

SumTerms some_terms() {
  SumTerms terms{.run = "fuzz", .round = 1, .members = {{1}, {2}, {3}}, .threshold = 2, .words = 4};
  terms.format = *choose_fixed_point(32, 3, 4);
  return terms;
}

struct Party {
  SumTerms terms = some_terms();
  SimulatedVerifier verifier{1};
  SumServer server{terms, verifier};
  std::vector<SimulatedSigner> signers{{1, {1}}, {1, {2}}, {1, {3}}};
  std::vector<SumHistory> histories = std::vector<SumHistory>(3);
  std::vector<SumClient> clients;

  Party() {
    for (std::uint32_t i = 0; i < 3; ++i) {
      clients.emplace_back(terms.members[i], signers[i], verifier, SeededKeys({.seed = 1, .client = i}));
    }
  }
  Result<SumMessage> answer(std::uint32_t i, SumPhase phase, SumMessage asked) {
    switch (phase) {
      case SumPhase::kKeys: {
        MUSTER_ASSIGN(const SumTerms told, unpack_terms(std::move(asked)));
        return clients[i].join(told, histories[i]);
      }
      case SumPhase::kShares:
        return clients[i].share(std::move(asked));
      case SumPhase::kInput:
        return clients[i].mask(std::move(asked), zero_words(32, terms.words));
      case SumPhase::kAgreement:
        return clients[i].agree(std::move(asked));
      default:
        return clients[i].open(std::move(asked));
    }
  }
};

// Up to `phase` all are honest; then client 1 is told the input, or says it.
void run(SumPhase phase, bool to_client, const SumMessage& input) {
  Party party;
  while (party.server.phase() != SumPhase::kDone) {
    const SumPhase at = party.server.phase();
    for (std::uint32_t i = 0; i < 3; ++i) {
      const ClientId id = party.terms.members[i];
      SumMessage asked = party.server.ask(id);
      const bool here = at == phase && i == 0;
      Result<SumMessage> answer = party.answer(i, at, here && to_client ? input : std::move(asked));
      if (here && !to_client) answer = input;
      if (answer) (void)party.server.take(id, std::move(*answer));
    }
    if (!party.server.close()) return;
  }
  const Words& sum = party.server.sum();
  Words plain = zero_words(32, party.terms.words);
  // What the input itself was, if it was taken for a vector, is in the sum; everything else is zero.
  MUSTER_CHECK(phase == SumPhase::kInput || sum == plain, "a sum of zeros is not zero");
}

}  // namespace
}  // namespace muster

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  muster::SumMessage input(size - 1);
  for (std::size_t i = 1; i < size; ++i) input[i - 1] = static_cast<std::byte>(data[i]);
  muster::run(static_cast<muster::SumPhase>(data[0] % 5), (data[0] & 8) != 0, input);
  return 0;
}
