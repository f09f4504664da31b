#include "data/wrapped_text.h"

#include <gmock/gmock.h>

#include "base/random.h"
#include "data/shown_text.h"

namespace muster {
namespace {

using testing::ElementsAre;

TEST(WrappedText, BreaksAtBlanks) {
  EXPECT_THAT(wrapped("", 5), ElementsAre(""));
  EXPECT_THAT(wrapped("one two three", 80), ElementsAre("one two three"));
  EXPECT_THAT(wrapped("one two three", 7), ElementsAre("one two", "three"));
  EXPECT_THAT(wrapped("a  b", 80), ElementsAre("a  b"));
  EXPECT_THAT(wrapped("one twothreefour", 5), ElementsAre("one", "twoth", "reefo", "ur"));
}

TEST(WrappedText, KeepsNumbersAndUnitsTogether) {
  EXPECT_THAT(wrapped("median 40.00 %, worst 1.5 MB up", 14), ElementsAre("median", "40.00 %, worst", "1.5 MB up"));
}

TEST(WrappedText, CountsColumnsOfATerminal) {
  EXPECT_EQ(shown_columns("abc"), 3u);
  EXPECT_EQ(shown_columns("± é –"), 5u);
  EXPECT_EQ(shown_columns("東京"), 4u);
  EXPECT_EQ(shown_columns("😀"), 2u);
  EXPECT_THAT(wrapped("東京都", 5), ElementsAre("東京", "都"));
}

// Whatever the text, no line is too wide and nothing but blanks is lost.
TEST(WrappedText, FitsAndKeepsEverything) {
  const std::vector<std::string> pieces{" ", "a", "12", "%", "s", "é", "東", "😀", "longerword", "  ", "\xff", "±"};
  Stream random({.seed = 7, .purpose = Purpose::kTest});
  for (int i = 0; i < 2000; ++i) {
    std::string text;
    for (std::uint32_t n = random.below(30); n > 0; --n) text += pieces[random.below(12)];
    text = shown_text(text);
    const std::size_t columns = 2 + random.below(20);
    std::string joined;
    for (const std::string& line : wrapped(text, columns)) {
      EXPECT_LE(shown_columns(line), columns) << text;
      joined += line;
    }
    std::erase(joined, ' ');
    std::erase(text, ' ');
    EXPECT_EQ(joined, text);
  }
}

}  // namespace
}  // namespace muster
