#include "base/hash.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace muster {
namespace {

std::uint64_t hash_text(std::string_view text) {
  return hash_bytes(text.data(), text.size());
}

// XXH3's 64-bit hashes are fixed by its specification: stored signatures stay valid with any version of the library.
TEST(Hash, KnownAnswers) {
  EXPECT_EQ(hash_text(""), 0x2d06800538d394c2u);
  EXPECT_EQ(hash_text("a"), 0xe6c632b61e964e1fu);
  EXPECT_EQ(hash_text("abc"), 0x78af5f94892f3950u);
}

TEST(Hash, PiecesHashLikeTheWhole) {
  std::string text(1000, '\0');
  for (std::size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>(i * 37);
  for (const std::size_t cut : {0u, 1u, 239u, 240u, 241u, 256u, 999u, 1000u}) {
    Hasher hasher;
    hasher.add(std::string_view(text).substr(0, cut));
    hasher.add(std::string_view(text).substr(cut));
    EXPECT_EQ(hasher.digest(), hash_text(text)) << cut;
  }
}

TEST(Hash, OrderAndEveryBitMatter) {
  const auto digest = [](auto first, auto second) {
    Hasher hasher;
    hasher.add(first);
    hasher.add(second);
    return hasher.digest();
  };
  EXPECT_NE(digest(std::uint64_t{1}, std::uint64_t{2}), digest(std::uint64_t{2}, std::uint64_t{1}));
  EXPECT_NE(digest(std::uint64_t{0}, std::uint64_t{1}), digest(std::uint64_t{0}, std::uint64_t{1} << 63));
  EXPECT_NE(digest(0.25, 1), digest(0.75, 1));
  EXPECT_EQ(digest(0.25, 1), digest(0.25f, 1));
}

TEST(Hash, FloatsHashByTheirBits) {
  const std::vector<float> positive = {0.0f, 1.0f};
  const std::vector<float> negative = {-0.0f, 1.0f};
  Hasher a;
  a.add(std::span<const float>(positive));
  Hasher b;
  b.add(std::span<const float>(negative));
  EXPECT_NE(a.digest(), b.digest());
  EXPECT_EQ(a.digest(), hash_bytes(positive.data(), 8));
}

TEST(Hash, DigestDoesNotEndTheStream) {
  Hasher hasher;
  hasher.add("ab");
  EXPECT_EQ(hasher.digest(), hash_text("ab"));
  hasher.add("c");
  EXPECT_EQ(hasher.digest(), hash_text("abc"));
}

TEST(Hex16, IsSixteenLowerCaseDigits) {
  EXPECT_EQ(hex16(0), "0000000000000000");
  EXPECT_EQ(hex16(0xABCu), "0000000000000abc");
  EXPECT_EQ(hex16(~std::uint64_t{0}), "ffffffffffffffff");
}

}  // namespace
}  // namespace muster
