// Sealed models of a chain: those that they are for can read them, and nothing else can be read, or passed for one.
#include "secure/sealed_relay.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace muster {
namespace {

constexpr std::uint64_t kRelaySeed = 3;

class SealedRelay : public testing::Test {
 protected:
  static ChainMember member(std::uint32_t client, const ChainTerms& terms = {"run", 4, {2}}, std::uint32_t draw = 0) {
    SeededKeys keys({.seed = 9, .part = draw, .client = client});
    auto made = ChainMember::make(terms, {{client}}, keys, SimulatedSigner(kRelaySeed, {client}));
    EXPECT_TRUE(made.ok());
    return std::move(made).value();
  }
  SealedModel seal(const ChainMember& by, std::span<const ChainKey> readers, std::uint32_t part = 0) {
    auto sealed = by.seal(part, model_, readers, keys_, verifier_);
    EXPECT_TRUE(sealed.ok()) << sealed.error().message;
    return std::move(sealed).value();
  }
  bool is_sealed_for(const ChainMember& by, const ChainKey& reader) {
    const SealedModel sealed = seal(by, std::vector{reader});
    EXPECT_TRUE(opens(by, sealed, by.key())) << "itself";
    return sealed.head.keys.size() == 2;
  }
  bool opens(const ChainMember& reader, const SealedModel& sealed, const ChainKey& sender) const {
    const auto opened = reader.open(sealed.head, sealed.values, sender, verifier_);
    return opened.ok() && *opened == model_;
  }

  std::vector<float> model_{1.5f, -2.0f, 0.0f, 4.25f, 1e-30f};
  SystemKeys keys_;
  SimulatedVerifier verifier_{kRelaySeed};
};

TEST_F(SealedRelay, IsReadByLaterMembersAndItsSenderOnly) {
  const ChainMember one = member(1);
  const ChainMember two = member(2);
  const ChainMember three = member(3);
  const SealedModel sealed = seal(one, std::vector{two.key()});
  EXPECT_EQ(sealed.values.size(), model_.size() + kSealedExtraValues);
  EXPECT_TRUE(opens(two, sealed, one.key()));
  EXPECT_TRUE(opens(one, sealed, one.key()));
  EXPECT_FALSE(opens(three, sealed, one.key()));
  SealedModel passed_for_another = sealed;
  passed_for_another.head.keys[0].reader = {3};
  EXPECT_FALSE(opens(three, passed_for_another, one.key()));
}

TEST_F(SealedRelay, HidesEveryWordAndNeverRepeats) {
  const ChainMember one = member(1);
  const SealedModel first = seal(one, {});
  const SealedModel second = seal(one, {});
  for (std::size_t i = 0; i < model_.size(); ++i) {
    EXPECT_NE(std::memcmp(&first.values[i], &model_[i], sizeof(float)), 0);
    EXPECT_NE(std::memcmp(&first.values[i], &second.values[i], sizeof(float)), 0);
  }
  EXPECT_NE(first.head.salt, second.head.salt);
  EXPECT_NE(first.head.keys[0].bytes, second.head.keys[0].bytes);
}

// Every bit of what the host carries is authenticated.
TEST_F(SealedRelay, IsRefusedIfAnyBitWasChanged) {
  const ChainMember one = member(1);
  const ChainMember two = member(2);
  const SealedModel sealed = seal(one, std::vector{two.key()});
  for (std::size_t bit = 0; bit < 8 * sizeof(float) * sealed.values.size(); ++bit) {
    SealedModel changed = sealed;
    reinterpret_cast<std::uint8_t*>(changed.values.data())[bit / 8] ^= static_cast<std::uint8_t>(1u << (bit % 8));
    EXPECT_FALSE(opens(two, changed, one.key())) << bit;
  }
  for (std::size_t bit = 0; bit < 8 * sizeof(WrappedKey::bytes); ++bit) {
    SealedModel changed = sealed;
    changed.head.keys[0].bytes[bit / 8] ^= static_cast<std::uint8_t>(1u << (bit % 8));
    EXPECT_FALSE(opens(two, changed, one.key())) << bit;
  }
  SealedModel shorter = sealed;
  shorter.values.pop_back();
  EXPECT_FALSE(opens(two, shorter, one.key()));
  shorter.values.clear();
  EXPECT_FALSE(opens(two, shorter, one.key()));
  SealedModel salted = sealed;
  salted.head.salt[5] ^= 1;
  EXPECT_FALSE(opens(two, salted, one.key()));
}

TEST_F(SealedRelay, IsRefusedAtAnotherPlace) {
  const ChainMember one = member(1);
  const ChainMember two = member(2);
  const SealedModel sealed = seal(one, std::vector{two.key()}, 1);
  SealedModel moved = sealed;
  moved.head.part = 2;
  EXPECT_FALSE(opens(two, moved, one.key())) << "of another pass";
  moved = sealed;
  moved.head.sender = {3};
  EXPECT_FALSE(opens(two, moved, one.key()));
  EXPECT_FALSE(opens(two, moved, member(3).key())) << "passed for another's";
  for (const ChainTerms& terms : {ChainTerms{"other", 4, {2}}, ChainTerms{"run", 5, {2}}, ChainTerms{"run", 4, {1}}}) {
    // Even if the very same keys were used again.
    EXPECT_FALSE(opens(member(2, terms), sealed, member(1, terms).key())) << "replayed";
  }
}

TEST_F(SealedRelay, BelievesNoKeyThatItsClientDidNotSign) {
  const ChainMember one = member(1);
  const ChainMember two = member(2);
  ChainKey forged = two.key();
  forged.key = member(3).key().key;  // the host's own, say
  EXPECT_FALSE(is_sealed_for(one, forged));
  forged = member(3).key();
  forged.client = {2};
  EXPECT_FALSE(is_sealed_for(one, forged));
  const ChainKey of_another_round = member(2, {"run", 3, {2}}).key();
  EXPECT_FALSE(is_sealed_for(one, of_another_round));
  ChainKey zero{.client = {2}, .name = {}, .key = {}, .credential = {}, .signature = {}};
  EXPECT_FALSE(is_sealed_for(one, zero));
  EXPECT_TRUE(is_sealed_for(one, two.key()));

  // One that is not believed costs the others nothing.
  const SealedModel for_the_rest = seal(one, std::vector{forged, two.key()});
  EXPECT_EQ(for_the_rest.head.keys.size(), 2u);
  EXPECT_TRUE(opens(two, for_the_rest, one.key()));

  const SealedModel sealed = seal(one, std::vector{two.key()});
  ChainKey unsigned_sender = one.key();
  unsigned_sender.signature[3] = static_cast<char>(unsigned_sender.signature[3] ^ 1);
  EXPECT_FALSE(two.open(sealed.head, sealed.values, unsigned_sender, verifier_).ok());
  const ChainMember again = member(1, {"run", 4, {2}}, 1);  // the same client, which has started again
  EXPECT_FALSE(opens(two, sealed, again.key()));
}

TEST_F(SealedRelay, HasBoundsOnReaders) {
  std::vector<ChainKey> readers;
  for (std::uint32_t client = 10; client < 10 + kMostReaders; ++client) readers.push_back(member(client).key());
  EXPECT_TRUE(opens(member(10 + kMostReaders - 1), seal(member(1), readers), member(1).key()));
  readers.push_back(member(200).key());
  EXPECT_FALSE(member(1).seal(0, model_, readers, keys_, verifier_).ok());
}

// 3 members, once: three keys of 96 bytes up; at each visit 3 keys, 48 and 48 down, and 48 + 3 * 48 up.
TEST_F(SealedRelay, CountsWhatItAdds) {
  const RelayBytes bytes = relay_bytes(3, 3, 2);
  EXPECT_EQ(bytes.down, 3u * (3 * 96 + 48 + 48));
  EXPECT_EQ(bytes.up, 3u * 96 + 2 * (48 + 3 * 48));
}

}  // namespace
}  // namespace muster
