#include "data/shown_text.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

TEST(ShownText, LeavesTextAlone) {
  EXPECT_EQ(shown_text("Zürich, 東京 C:\\sites"), "Zürich, 東京 C:\\sites");
  EXPECT_EQ(shown_text(""), "");
}

TEST(ShownText, EscapesWhatWouldBreakALine) {
  EXPECT_EQ(shown_text("a\nb\tc\r"), "a\\nb\\tc\\r");
  EXPECT_EQ(shown_text("\x1b[31mred\x7f"), "\\x1b[31mred\\x7f");
  EXPECT_EQ(shown_text(std::string_view("a\0b", 3)), "a\\x00b");
  EXPECT_EQ(shown_text("\xc2\x9b"
                       "2J"),
            "\\xc2\\x9b2J");                                                   // a control sequence in one character
  EXPECT_EQ(shown_text("\xe2\x80\xaegnp"), "\\xe2\\x80\\xaegnp");              // writes backwards
  EXPECT_EQ(shown_text("\xe2\x80\x8f\xd8\x9c"), "\\xe2\\x80\\x8f\\xd8\\x9c");  // marks of a direction
}

TEST(ShownText, EscapesBytesThatAreNotUtf8) {
  EXPECT_EQ(shown_text("Z\xfcrich"), "Z\\xfcrich");
  EXPECT_EQ(shown_text("\xc3"), "\\xc3");
  EXPECT_EQ(shown_text("\xc0\xaf"), "\\xc0\\xaf");           // longer than needed
  EXPECT_EQ(shown_text("\xed\xa0\x80"), "\\xed\\xa0\\x80");  // a surrogate
  EXPECT_EQ(shown_text("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");
}

}  // namespace
}  // namespace muster
