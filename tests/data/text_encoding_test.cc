#include "data/readers/text_encoding.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include "scratch_folder.h"

namespace muster {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string decoded(std::string_view bytes, TextEncoding* encoding = nullptr) {
  const auto text = decode_text(bytes);
  if (!text) return "error: " + text.error().message;
  if (encoding) *encoding = text->encoding;
  EXPECT_EQ(text->buffer.text().data()[text->buffer.text().size()], '\0');  // may be read
  return std::string(text->buffer.text());
}

TEST(TextEncoding, Utf8StaysAndEndsInALineEnd) {
  EXPECT_EQ(decoded("a,ü\n1,2"), "a,ü\n1,2\n");
  EXPECT_EQ(decoded("\xef\xbb\xbf"
                    "a\n"),
            "a\n");
  EXPECT_EQ(decoded(""), "");
  EXPECT_EQ(decoded("\xef\xbb\xbf"), "");
  const std::string long_text(1000, 'x');
  EXPECT_EQ(decoded(long_text + "東京\n"), long_text + "東京\n");
}

TEST(TextEncoding, Utf16OfBothOrders) {
  const std::string_view little(
      "\xff\xfe"
      "a\0\xfc\0\n\0\x3d\xd8\x00\xde",
      12);  // a, ü, LF, U+1F600
  const std::string_view big("\xfe\xff\0a\0\xfc\0\n\xd8\x3d\xde\x00", 12);
  TextEncoding encoding{};
  EXPECT_EQ(decoded(little, &encoding), "aü\n😀\n");
  EXPECT_EQ(encoding, TextEncoding::kUtf16);
  EXPECT_EQ(decoded(big), "aü\n😀\n");
  EXPECT_EQ(decoded(std::string_view("\xff\xfe\x3d\xd8", 4)), "\xef\xbf\xbd\n");  // half a pair
  EXPECT_EQ(decoded("\xff\xfe"
                    "a"),
            "error: UTF-16 text with an odd number of bytes");
  EXPECT_THAT(decoded(std::string_view("\xff\xfe\0\0a\0\0\0", 8)), HasSubstr("UTF-32"));
  EXPECT_THAT(decoded(std::string_view("a\0b\0", 4)), HasSubstr("UTF-16 without a byte order mark"));
}

TEST(TextEncoding, OtherBytesAreWindows1252WithANote) {
  const auto text = decode_text("a\nZ\xfcrich \x80 5\n");
  ASSERT_TRUE(text);
  EXPECT_EQ(text->buffer.text(), "a\nZürich € 5\n");
  EXPECT_EQ(text->encoding, TextEncoding::kLatin1);
  EXPECT_THAT(text->notes,
              ElementsAre("the file is not UTF-8 (first in line 2); it is read as Windows-1252 (Latin-1)"));
}

TEST(TextEncoding, LinesThatEndInCrAlone) {
  EXPECT_EQ(decoded("a\r1\r2\r"), "a\n1\n2\r\n");
  EXPECT_EQ(decoded("a\r1\r2"), "a\n1\n2\n");
  EXPECT_EQ(decoded("a\r\n1\r2\r\n"), "a\r\n1\r2\r\n");
}

TEST(TextEncoding, UnpacksGzipAndNamesTheFile) {
  const ScratchFolder folder;
  const std::string packed = (folder / "a.csv.gz").string();
  gzFile file = gzopen(packed.c_str(), "wb");
  gzwrite(file, "a,b\n1,2\n", 8);
  gzclose(file);
  const auto text = read_text(packed);
  ASSERT_TRUE(text) << text.error().message;
  EXPECT_EQ(text->buffer.text(), "a,b\n1,2\n");
  EXPECT_THAT(read_text(folder / "none.csv").error().message, HasSubstr("none.csv"));
  const auto bad = folder.write("bad.csv", std::string("\xff\xfe"
                                                       "a"));
  EXPECT_THAT(read_text(bad).error().message, HasSubstr("bad.csv: UTF-16"));
}

}  // namespace
}  // namespace muster
