#include "data/readers/tokens.h"

namespace muster {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(Tokens, CharactersAreThoseOfUnicode) {
  EXPECT_THAT(cut_into_tokens("aé\n€", TokenKind::kCharacters), ElementsAre("a", "é", "\n", "€"));
  EXPECT_THAT(cut_into_tokens("a\xff"
                              "b",
                              TokenKind::kCharacters),
              ElementsAre("a", "\ufffd", "b"));
  EXPECT_THAT(cut_into_tokens("", TokenKind::kCharacters), IsEmpty());
}

TEST(Tokens, WordsAreInLowerCaseWithoutSigns) {
  EXPECT_THAT(cut_into_tokens("To be, or NOT", TokenKind::kWords), ElementsAre("to", "be", ",", "or", "not"));
}

TEST(Tokens, AVocabularyHasTheMostFrequentFirst) {
  const std::vector<std::string> texts{"b a b", "c b a"};
  const Vocabulary vocabulary = Vocabulary::of(texts, TokenKind::kWords, 10);
  EXPECT_THAT(vocabulary.tokens(), ElementsAre("b", "a", "c"));
  EXPECT_EQ(vocabulary.size(), 5u);
  EXPECT_EQ(vocabulary.id("b"), 2u);
  EXPECT_EQ(vocabulary.id("nobody"), Vocabulary::kUnknown);
  EXPECT_THAT(Vocabulary::of(texts, TokenKind::kWords, 2).tokens(), ElementsAre("b", "a"));
}

TEST(Tokens, ATextIsCutOrPadded) {
  const Vocabulary vocabulary = *Vocabulary::from({"x", "y"});
  std::vector<std::uint32_t> ids(4);
  vocabulary.encode("xzy", TokenKind::kCharacters, ids);
  EXPECT_THAT(ids, ElementsAre(2, Vocabulary::kUnknown, 3, Vocabulary::kPadding));
  ids.resize(2);
  vocabulary.encode("yxy", TokenKind::kCharacters, ids);
  EXPECT_THAT(ids, ElementsAre(3, 2));
}

TEST(Tokens, AVocabularyIsReadFromLines) {
  EXPECT_THAT(Vocabulary::parse("a\r\n\\n\n\\s\n\\\\\n")->tokens(), ElementsAre("a", "\n", " ", "\\"));
  const auto error = [](std::string_view text) { return Vocabulary::parse(text).error().message; };
  EXPECT_THAT(error("a\nb\na\n"), HasSubstr("line 3: 'a' is on line 1 already"));
  EXPECT_THAT(error("a\n\nb\n"), HasSubstr("line 2: is empty"));
  EXPECT_THAT(error("\\q\n"), HasSubstr("line 1: '\\q'"));
  EXPECT_THAT(error("\\"), HasSubstr("line 1"));
  EXPECT_THAT(error(""), HasSubstr("no tokens"));
}

}  // namespace
}  // namespace muster
