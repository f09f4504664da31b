#include "secure/mask.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "secure/key_agreement.h"
#include "secure/key_source.h"
#include "sum_run.h"

namespace muster {
namespace {

Words one(std::uint32_t value) {
  return std::vector<std::uint32_t>{value};
}

std::uint32_t only(const Words& words) {
  return std::get<0>(words).at(0);
}

// The worked numbers: x = 1.25, -0.5, 3.0 with 16 bits of fraction, and masks that are given.
TEST(Mask, ThreeClientsByHand) {
  const FixedPoint format{.bits = 32, .fraction_bits = 16, .most_weight = 1};
  const std::array<float, 3> x{1.25f, -0.5f, 3.0f};
  const std::array<std::uint32_t, 3> own{11, 22, 33};
  std::uint32_t pair[3][3] = {};
  pair[0][1] = pair[1][0] = 123456789;
  pair[0][2] = pair[2][0] = 4000000000u;
  pair[1][2] = pair[2][1] = 77;
  std::vector<Words> y;
  for (std::uint32_t u = 0; u < 3; ++u) {
    Words words = one(std::get<0>(*encode_input(format, std::span(&x[u], 1), 1))[0]);
    add_words(words, one(own[u]));
    for (std::uint32_t v = 0; v < 3; ++v) {
      if (v != u) add_words(words, one(pair[u][v]), sign_of_pair(u, v));
    }
    y.push_back(words);
  }
  EXPECT_EQ(only(y[0]), 4123538720u);
  EXPECT_EQ(only(y[1]), 4171477838u);
  EXPECT_EQ(only(y[2]), 295163860u);

  Words all = y[0];
  add_words(all, y[1]);
  add_words(all, y[2]);
  for (const std::uint32_t b : own) add_words(all, one(b), MaskSign::kMinus);
  EXPECT_EQ(only(all), 245760u);
  EXPECT_EQ(245760 / 65536.0, 3.75);

  // Client 2 is gone: what the others have in common with it dangles.
  Words two = y[0];
  add_words(two, y[1]);
  add_words(two, one(own[0]), MaskSign::kMinus);
  add_words(two, one(own[1]), MaskSign::kMinus);
  for (const std::uint32_t u : {0u, 1u}) add_words(two, one(pair[u][2]), opposite(sign_of_pair(u, 2)));
  EXPECT_EQ(only(two) / 65536.0, 0.75);
}

TEST(Mask, WhatOneAddsTheOtherTakesOff) {
  SystemKeys keys;
  const SecretKey key = keys.key();
  for (const std::uint32_t bits : {32u, 64u}) {
    for (const std::size_t count : {std::size_t{1}, std::size_t{2049}, std::size_t{10000}}) {
      Words words = zero_words(bits, count);
      add_mask(words, key, MaskSign::kPlus);
      EXPECT_NE(words, zero_words(bits, count));
      add_mask(words, key, MaskSign::kMinus);
      EXPECT_EQ(words, zero_words(bits, count));
    }
  }
}

// AES-256-CTR with the key of NIST SP 800-38A, F.5.5, from block 0: what another implementation gives.
TEST(Mask, IsTheCounterModeOfAes256) {
  const std::array<std::uint8_t, 32> key{0x60, 0x3d, 0xeb, 0x10, 0x15, 0xca, 0x71, 0xbe, 0x2b, 0x73, 0xae,
                                         0xf0, 0x85, 0x7d, 0x77, 0x81, 0x1f, 0x35, 0x2c, 0x07, 0x3b, 0x61,
                                         0x08, 0xd7, 0x2d, 0x98, 0x10, 0xa3, 0x09, 0x14, 0xdf, 0xf4};
  Words words = zero_words(32, 4);
  add_mask(words, SecretKey(key), MaskSign::kPlus);
  // openssl enc -aes-256-ecb of one block of zeros
  EXPECT_THAT(std::get<0>(words), testing::ElementsAre(0x81f668e5u, 0xd676cf94u, 0xc04c4d17u, 0x54a81043u));
}

// Keys differ by label, context, order and either number.
TEST(Mask, EveryDerivedKeyIsAnotherOne) {
  prepare_cryptography();
  const SecretKey from = SeededKeys({.seed = 1}).key();
  std::set<std::vector<std::uint8_t>> seen;
  std::size_t made = 0;
  for (const std::string_view label : {"muster own", "muster pair"}) {
    for (std::uint8_t context = 0; context < 4; ++context) {
      for (std::uint32_t a = 0; a < 4; ++a) {
        for (std::uint32_t b = 0; b < 4; ++b) {
          const SecretKey key = derive_key(from, label, PublicBytes{context}, a, b);
          seen.insert({key.bytes().begin(), key.bytes().end()});
          ++made;
        }
      }
    }
  }
  EXPECT_EQ(seen.size(), made);
}

double chi_squared(const std::vector<std::uint64_t>& counts, double expected) {
  double sum = 0;
  for (const std::uint64_t count : counts) sum += (count - expected) * (count - expected) / expected;
  return sum;
}

// What the server is sent is uniform, whatever it hides, and no two sums share a mask: with the same vectors, every
// byte of a member's masked vector is as likely as any other, alone and exclusive-ored with that of another round.
TEST(Mask, MaskedVectorsAreUniformAndNeverTheSameTwice) {
  std::vector<std::vector<std::uint32_t>> sent;
  for (std::uint32_t round = 1; round <= 2; ++round) {
    SumTerms terms = terms_of(3, 100000);
    terms.round = round;
    SumRun run(terms);
    ASSERT_TRUE(run.run({}, {}, [&](SumPhase phase, ClientId, SumMessage message) {
      if (phase == SumPhase::kInput) sent.push_back(std::get<0>(*unpack_words(message, terms)));
      return std::optional(std::move(message));
    }));
  }
  ASSERT_EQ(sent.size(), 6u);
  // 255 degrees of freedom: above 377 once in a million.
  const auto check = [&](const auto& word_at, const char* what) {
    std::vector<std::uint64_t> counts(256);
    for (std::size_t i = 0; i < sent[0].size(); ++i) {
      for (int byte = 0; byte < 4; ++byte) ++counts[(word_at(i) >> (8 * byte)) & 255];
    }
    EXPECT_LT(chi_squared(counts, 4.0 * sent[0].size() / 256), 377) << what;
  };
  for (std::size_t a = 0; a < sent.size(); ++a) {
    check([&](std::size_t i) { return sent[a][i]; }, "alone");
    for (std::size_t b = 0; b < a; ++b) check([&](std::size_t i) { return sent[a][i] ^ sent[b][i]; }, "in pairs");
    for (std::size_t b = 0; b < a; ++b) check([&](std::size_t i) { return sent[a][i] - sent[b][i]; }, "differences");
  }
}

}  // namespace
}  // namespace muster
