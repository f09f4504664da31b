// A server that cheats: whatever it does, the member that sees it refuses, says why, and answers nothing more. And
// members that cheat: the server drops them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "secure/key_agreement.h"
#include "sum_run.h"

namespace muster {
namespace {

using testing::HasSubstr;

const ClientId kFirst{10};
const ClientId kSecond{13};

// What the server says to client 10 in `phase` is changed; why client 10 refuses it.
std::string refusal(SumPhase phase, const std::function<SumMessage(SumMessage, const SumTerms&)>& change,
                    std::map<std::uint32_t, SumPhase> lost = {}, std::uint32_t neighbours = 0) {
  const SumTerms terms = terms_of(7, 3, 32, neighbours);
  SumRun run(terms);
  (void)run.run(lost, [&](SumPhase at, ClientId client, SumMessage message) {
    if (at == phase && client == kFirst) message = change(std::move(message), terms);
    return std::optional(std::move(message));
  });
  const auto found = run.refused_.find(kFirst.value);
  if (found == run.refused_.end()) return "";
  EXPECT_FALSE(run.clients_.at(kFirst.value).open({})) << "it answers after it has refused";
  return found->second;
}

std::string refused_opening(const std::function<void(OpeningAsk&)>& change) {
  return refusal(SumPhase::kOpening,
                 [&](SumMessage message, const SumTerms& terms) {
                   OpeningAsk ask = *unpack_opening_ask(std::move(message), terms);
                   change(ask);
                   return pack(ask);
                 },
                 {{22, SumPhase::kInput}});
}

std::string refused_keys(const std::function<void(KeyList&)>& change) {
  return refusal(SumPhase::kShares, [&](SumMessage message, const SumTerms& terms) {
    KeyList list = *unpack_key_list(std::move(message), terms);
    change(list);
    return pack(list);
  });
}

TEST(Refusals, AnHonestServerIsNotRefused) {
  EXPECT_EQ(refused_opening([](OpeningAsk&) {}), "");
  EXPECT_EQ(refused_keys([](KeyList&) {}), "");
}

TEST(Refusals, BothSecretsOfOnePeer) {
  EXPECT_THAT(refused_opening([](OpeningAsk& ask) { ask.gone.push_back(kSecond); }),
              HasSubstr("asks for both secrets of client 13"));
}

TEST(Refusals, TheOtherSecretThanTheOneThatWasSigned) {
  EXPECT_THAT(refused_opening([](OpeningAsk& ask) {
                std::erase(ask.in_sum, kSecond);
                ask.gone.push_back(kSecond);
              }),
              HasSubstr("says of client 13 another thing than was signed"));
}

TEST(Refusals, TheClientItselfIsNamedDead) {
  EXPECT_THAT(refused_opening([](OpeningAsk& ask) { ask.gone.push_back(kFirst); }),
              HasSubstr("names this client dead"));
  EXPECT_THAT(refusal(SumPhase::kAgreement,
                      [](SumMessage message, const SumTerms& terms) {
                        SurvivorSet survivors = *unpack_survivors(std::move(message), terms);
                        survivors[0] = false;
                        return pack(survivors);
                      }),
              HasSubstr("names this client dead"));
}

TEST(Refusals, IdsThatAreRepeated) {
  EXPECT_THAT(refused_opening([](OpeningAsk& ask) { ask.in_sum.push_back(kSecond); }),
              HasSubstr("names client 13 twice"));
  EXPECT_THAT(refused_opening([](OpeningAsk& ask) { ask.signatures.push_back(ask.signatures[0]); }),
              HasSubstr("names client 13 twice"));
  EXPECT_THAT(refused_keys([](KeyList& list) { list.back() = list.front(); }), HasSubstr("client 13 is there twice"));
  EXPECT_THAT(refusal(SumPhase::kInput,
                      [](SumMessage message, const SumTerms& terms) {
                        ShareList list = *unpack_share_list(std::move(message), terms);
                        list[1] = list[0];
                        return pack(list);
                      }),
              HasSubstr("names client 13 twice"));
}

// Keys that the same client signed, too.
TEST(Refusals, TwoPairsOfKeysOfOneClient) {
  const SimulatedSigner signer(1, kSecond);
  MemberKeys keys{.client = kSecond, .cipher_key = {3}, .mask_key = {5}};
  keys.signature = *signer.sign(keys_text(digest_of(terms_of(7, 3)), keys));
  EXPECT_THAT(refused_keys([&](KeyList& list) { list.back() = keys; }), HasSubstr("names client 13 twice"));
}

TEST(Refusals, KeysThatNobodySigned) {
  EXPECT_THAT(refused_keys([](KeyList& list) { list[0].mask_key[3] ^= 1; }), HasSubstr("not client 13's"));
  EXPECT_THAT(refused_keys([](KeyList& list) { list[0].client = list[1].client; }),
              HasSubstr("a signature that is not"));
  EXPECT_THAT(refused_keys([](KeyList& list) { list.resize(2); }), HasSubstr("fewer than the threshold"));
}

// Keys of another sum are signed, but for another sum.
TEST(Refusals, KeysOfAnotherRound) {
  SumTerms other = terms_of(7, 3);
  other.round = 2;
  const SimulatedSigner signer(1, kSecond);
  MemberKeys keys{.client = kSecond, .cipher_key = {1}, .mask_key = {2}};
  keys.signature = *signer.sign(keys_text(digest_of(other), keys));
  EXPECT_THAT(refused_keys([&](KeyList& list) { list[0] = keys; }), HasSubstr("not client 13's"));
}

TEST(Refusals, KeysWithWhichEverybodyWouldHaveTheSameInCommon) {
  const SimulatedSigner signer(1, kSecond);
  MemberKeys keys{.client = kSecond, .cipher_key = {}, .mask_key = {2}};
  keys.signature = *signer.sign(keys_text(digest_of(terms_of(7, 3)), keys));
  EXPECT_THAT(refused_keys([&](KeyList& list) { list[0] = keys; }), HasSubstr("of no use"));
}

TEST(Refusals, StrangersAndThoseWhoAreNoNeighbours) {
  EXPECT_THAT(refused_opening([](OpeningAsk& ask) { ask.gone.push_back({11}); }), HasSubstr("client 11 is no member"));
  const std::string why = refusal(
      SumPhase::kOpening,
      [](SumMessage message, const SumTerms& terms) {
        OpeningAsk ask = *unpack_opening_ask(std::move(message), terms);
        ask.in_sum = terms.members;
        return pack(ask);
      },
      {}, 4);
  EXPECT_THAT(why, HasSubstr("no neighbour"));
}

// Two sets of survivors: each client signs what it was shown, and the others' signatures do not fit.
TEST(Refusals, AnotherSetOfSurvivorsForEveryClient) {
  EXPECT_THAT(refusal(SumPhase::kAgreement,
                      [](SumMessage message, const SumTerms& terms) {
                        SurvivorSet survivors = *unpack_survivors(std::move(message), terms);
                        survivors[3] = false;
                        return pack(survivors);
                      }),
              "");
  SumRun run(terms_of(7, 3));
  // The server takes client 10's signature for what it is not, as one that cheats would.
  std::optional<SumMessage> shown;
  const SumTerms terms = run.server_.terms();
  const Status status =
      run.run({}, [&](SumPhase phase, ClientId client, SumMessage message) -> std::optional<SumMessage> {
        if (phase == SumPhase::kAgreement && client == kFirst) {
          SurvivorSet survivors = *unpack_survivors(std::move(message), terms);
          survivors[3] = false;
          return pack(survivors);
        }
        return message;
      });
  EXPECT_TRUE(status) << "the others open the sum without it";
  EXPECT_THAT(run.unusable_, testing::ElementsAre(HasSubstr("client 10: a signature that is not")));
  // Client 10 itself, shown the signatures of the others.
  EXPECT_THAT(refused_opening([&](OpeningAsk& ask) {
                const SimulatedSigner signer(1, kSecond);
                SurvivorSet others(7, true);
                ask.signatures[0].signature = *signer.sign(survivors_text(digest_of(terms_of(7, 3)), others));
              }),
              HasSubstr("showed client 13 another set of survivors"));
}

TEST(Refusals, TooFewSignaturesOfTheSurvivors) {
  EXPECT_THAT(refused_opening([](OpeningAsk& ask) { ask.signatures.resize(2); }),
              HasSubstr("3 members signed the set of survivors, fewer than the threshold of 5"));
  EXPECT_THAT(refusal(SumPhase::kAgreement,
                      [](SumMessage, const SumTerms&) {
                        SurvivorSet survivors(7, false);
                        survivors[0] = survivors[1] = true;
                        return pack(survivors);
                      }),
              HasSubstr("2 survivors, fewer than the threshold of 5"));
}

TEST(Refusals, AReplayedRound) {
  SumHistory history;
  SumTerms terms = terms_of(3, 3);
  terms.part = 1;
  EXPECT_TRUE(history.enter(terms));
  EXPECT_FALSE(history.enter(terms));
  terms.members.pop_back();
  EXPECT_FALSE(history.enter(terms)) << "one member fewer gives that member away";
  terms.part = 2;
  EXPECT_TRUE(history.enter(terms));
  terms.round = 2;
  terms.part = 0;
  EXPECT_TRUE(history.enter(terms));
  terms.run = "another";
  EXPECT_TRUE(history.enter(terms));

  SumRun run(terms_of(3, 3));
  ASSERT_TRUE(run.histories_[10].enter(terms_of(3, 3)));
  (void)run.run();
  EXPECT_THAT(run.refused_.at(10), HasSubstr("replays round 1"));
}

TEST(Refusals, TermsThatProtectNobody) {
  const auto with = [](const std::function<void(SumTerms&)>& change) {
    SumTerms terms = terms_of(6, 3);
    change(terms);
    return unpack_terms(pack(terms)).ok();
  };
  EXPECT_TRUE(with([](SumTerms&) {}));
  EXPECT_FALSE(with([](SumTerms& terms) { terms.threshold = 3; }));
  EXPECT_FALSE(with([](SumTerms& terms) { terms.threshold = 7; }));
  EXPECT_FALSE(with([](SumTerms& terms) { terms.members.resize(1); }));
  EXPECT_FALSE(with([](SumTerms& terms) { terms.members[1] = terms.members[0]; }));
  EXPECT_FALSE(with([](SumTerms& terms) { terms.neighbours = 3; }));
  EXPECT_FALSE(with([](SumTerms& terms) { terms.format.most_weight = 1 << 20; })) << "a sum that may overflow";
  EXPECT_FALSE(with([](SumTerms& terms) { terms.words = 1; }));
}

TEST(Refusals, PhasesOutOfTheirOrder) {
  SumRun run(terms_of(3, 3));
  SumClient& client = run.clients_.at(10);
  EXPECT_THAT(client.agree({}).error().message, HasSubstr("out of their order"));
  EXPECT_THAT(client.join(terms_of(3, 3), run.histories_[10]).error().message, HasSubstr("over"));
}

TEST(Refusals, MembersThatCheatAreDropped) {
  // Keys of somebody else, a vector of another size, a share that is none.
  const auto faults = [](SumPhase phase, const std::function<void(SumMessage&)>& change) {
    SumRun run(terms_of(7, 3));
    const Status status = run.run({}, {}, [&](SumPhase at, ClientId client, SumMessage message) {
      if (at == phase && client == kFirst) change(message);
      return std::optional(std::move(message));
    });
    EXPECT_EQ(run.server_.lost_in(kFirst), phase);
    if (!status) {
      ADD_FAILURE() << name(phase) << ": " << status.error().message;
      return std::size_t{0};
    }
    EXPECT_EQ(run.server_.sum(), run.plain_sum(run.server_.summed()));
    return run.unusable_.size();
  };
  EXPECT_EQ(faults(SumPhase::kKeys, [](SumMessage& message) { message[0] ^= std::byte{1}; }), 1u);
  EXPECT_EQ(faults(SumPhase::kShares, [](SumMessage& message) { message.pop_back(); }), 1u);
  EXPECT_EQ(faults(SumPhase::kInput, [](SumMessage& message) { message.resize(message.size() + 4); }), 1u);
  EXPECT_EQ(faults(SumPhase::kAgreement, [](SumMessage& message) { message.back() ^= std::byte{1}; }), 1u);
  EXPECT_EQ(faults(SumPhase::kOpening, [](SumMessage& message) { message.clear(); }), 1u);
}

// Signed by their owner, and of no use to anybody: who gives them is left out, not everybody who would refuse them.
TEST(Refusals, KeysThatOthersWouldRefuseCostTheirOwnerOnly) {
  using Change = std::function<void(MemberKeys&, const MemberKeys& other)>;
  for (const Change& change :
       {Change([](MemberKeys&keys, const MemberKeys&) { keys.mask_key = keys.cipher_key; }),
        Change([](MemberKeys&keys, const MemberKeys&) { keys.cipher_key = {}; }),
        Change([](MemberKeys&keys, const MemberKeys&other) { keys.mask_key = other.mask_key; })}) {
    const SumTerms terms = terms_of(7, 3);
    SumRun run(terms);
    std::optional<MemberKeys> first;
    const Status status = run.run({}, {}, [&](SumPhase at, ClientId client, SumMessage message) {
      if (at != SumPhase::kKeys) return std::optional(std::move(message));
      MemberKeys keys = *unpack_keys(message);
      if (client == kSecond) {
        change(keys, first.value_or(keys));
        keys.signature = *SimulatedSigner(1, kSecond).sign(keys_text(digest_of(terms), keys));
      }
      first = keys;
      return std::optional(pack(keys));
    });
    ASSERT_TRUE(status) << status.error().message;
    EXPECT_EQ(run.server_.lost_in(kSecond), SumPhase::kKeys);
    EXPECT_EQ(run.server_.summed().size(), 6u);
    EXPECT_EQ(run.server_.sum(), run.plain_sum(run.server_.summed()));
  }
}

// However little it is changed, and whichever secret it is of.
TEST(Refusals, AWrongShareAbandonsTheSumInsteadOfSpoilingIt) {
  for (const bool of_the_gone : {false, true}) {
    for (std::size_t byte = 0; byte < SecretShare::size(); byte += 7) {
      SumRun run(terms_of(5, 3));
      std::map<std::uint32_t, SumPhase> lost;
      if (of_the_gone) lost.emplace(10, SumPhase::kInput);
      const Status status = run.run(lost, {}, [&](SumPhase phase, ClientId client, SumMessage message) {
        if (phase == SumPhase::kOpening && client == kSecond) {
          OpeningList list = *unpack_openings(std::move(message), run.server_.terms());
          list[0].share.data()[byte] ^= 8;
          message = pack(list);
        }
        return std::optional(std::move(message));
      });
      ASSERT_FALSE(status) << "byte " << byte;
      EXPECT_THAT(status.error().message, HasSubstr("abandoned in phase opening: wrong shares of client 10's secret"));
    }
  }
}

}  // namespace
}  // namespace muster
