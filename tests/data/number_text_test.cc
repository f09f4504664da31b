#include "data/readers/number_text.h"

#include <gtest/gtest.h>

#include <charconv>
#include <cmath>
#include <cstring>
#include <string>

#include "base/random.h"
#include "data/readers/csv_records.h"

namespace muster {
namespace {

TEST(NumberText, ReadsTheNearestDouble) {
  Stream stream({.seed = 5, .purpose = Purpose::kTest});
  std::uint32_t plain = 0;
  for (int i = 0; i < 200000; ++i) {
    // Digits with a mark anywhere, short and long, with and without exponents.
    std::string text = stream.below(3) == 0 ? "-" : "";
    const std::uint32_t digits = 1 + stream.below(20);
    const std::uint32_t mark = stream.below(digits + 5);
    for (std::uint32_t d = 0; d < digits; ++d) {
      if (d == mark) text += '.';
      text += static_cast<char>('0' + stream.below(10));
    }
    if (stream.below(4) == 0) text += fmt::format("e{}", static_cast<int>(stream.below(60)) - 30);
    double expected = 0;
    std::from_chars(text.data(), text.data() + text.size(), expected);
    const std::string ended = text + ",";
    const char* at = ended.data();
    double value = 0;
    if (read_plain_number(at, '.', value)) {
      ++plain;
      ASSERT_EQ(std::memcmp(&value, &expected, sizeof value), 0) << text << " read as " << value;
      ASSERT_EQ(*at, ',') << text;
    } else {
      ASSERT_EQ(at, ended.data());
    }
    ASSERT_EQ(parse_decimal(text, DecimalMark::kPoint), expected) << text;
  }
  EXPECT_GT(plain, 100000u);
}

TEST(NumberText, LeavesToOthersWhatIsNotPlain) {
  for (const char* text : {",", "-,", ".,", "e5,", "nan,", "1e,", "1e+,", "12345678901234567890,", "1e23,", "1e-23,",
                           "9007199254740993,", "+-1,"}) {
    const char* at = text;
    double value = 7;
    EXPECT_FALSE(read_plain_number(at, '.', value)) << text;
    EXPECT_EQ(value, 7) << text;
  }
}

TEST(NumberText, DecimalCommas) {
  EXPECT_EQ(parse_decimal("1,5", DecimalMark::kComma), 1.5);
  EXPECT_EQ(parse_decimal("-,5e2", DecimalMark::kComma), -50.0);
  EXPECT_EQ(parse_decimal("12", DecimalMark::kComma), 12.0);
  EXPECT_FALSE(parse_decimal("1.5", DecimalMark::kComma));  // or 15?
  EXPECT_FALSE(parse_decimal("1.234,5", DecimalMark::kComma));
  EXPECT_FALSE(parse_decimal("1,234,5", DecimalMark::kComma));
  EXPECT_FALSE(parse_decimal("1,5", DecimalMark::kPoint));
  EXPECT_TRUE(has_decimal("1,5", DecimalMark::kComma));
  EXPECT_FALSE(has_decimal("15", DecimalMark::kComma));
  EXPECT_FALSE(has_decimal("a,b", DecimalMark::kComma));
}

}  // namespace
}  // namespace muster
