#include "data/readers/csv_dialect.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/readers/text_encoding.h"

namespace muster {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

FoundDialect dialect_of(std::string_view text, const CsvDialectOptions& options = {}) {
  const auto decoded = decode_text(text);
  auto found = find_dialect(decoded->buffer.text(), options);
  EXPECT_TRUE(found) << found.error().message;
  return found ? *std::move(found) : FoundDialect{};
}
std::string dialect_error(std::string_view text, const CsvDialectOptions& options) {
  const auto decoded = decode_text(text);
  const auto found = find_dialect(decoded->buffer.text(), options);
  return found ? "no error" : found.error().message;
}

TEST(CsvDialect, FindsTheDelimiter) {
  EXPECT_EQ(dialect_of("a,b\n1,2\n").dialect.delimiter, ',');
  EXPECT_EQ(dialect_of("a;b;c\n1,5;2,5;3,5\n").dialect.delimiter, ';');
  EXPECT_EQ(dialect_of("a\tb\n1\t2\n").dialect.delimiter, '\t');
  EXPECT_EQ(dialect_of("a|b|c\n1|2|x, y\n").dialect.delimiter, '|');
  EXPECT_EQ(dialect_of("temp, C;hum, %;label\n1;2;x\n").dialect.delimiter, ';');
  EXPECT_EQ(dialect_of("\"a;b;c\",d\n\"1;2\",3\n").dialect.delimiter, ',');
  EXPECT_EQ(dialect_of("a,b\n\"x;\n;y\",2\n").dialect.delimiter, ',');
  EXPECT_EQ(dialect_of("a\n1\n").dialect.delimiter, ',');
  EXPECT_EQ(dialect_of("").dialect.delimiter, ',');
  EXPECT_EQ(dialect_of("a;b,c\n1;2,3\n", {.delimiter = ";"}).dialect.delimiter, ';');
  EXPECT_EQ(dialect_of("a b\n", {.delimiter = "tab"}).dialect.delimiter, '\t');
}

TEST(CsvDialect, FindsTheDecimalMark) {
  EXPECT_EQ(dialect_of("a;b\n1,5;x\n").dialect.decimal, DecimalMark::kComma);
  EXPECT_EQ(dialect_of("a;b\n1.5;x\n").dialect.decimal, DecimalMark::kPoint);
  EXPECT_EQ(dialect_of("a|b\n\"1,5\"|x\n").dialect.decimal, DecimalMark::kComma);
  EXPECT_FALSE(dialect_of("a;b\n1;x,y\n").decimal_known);
  EXPECT_TRUE(dialect_of("a,b\n1,2\n").decimal_known);
  EXPECT_EQ(dialect_of("a;b\n1,5;x\n", {.decimal = "point"}).dialect.decimal, DecimalMark::kPoint);
  EXPECT_THAT(dialect_of("a;b\n1,5;2,5\n").notes, IsEmpty());
  const FoundDialect both = dialect_of("a;b\n1,5;2.5\n3,5;x\n");
  EXPECT_EQ(both.dialect.decimal, DecimalMark::kComma);
  ASSERT_EQ(both.notes.size(), 1u);
  EXPECT_THAT(both.notes[0], HasSubstr("1 have a decimal point and 2 a decimal comma; they are read with a comma"));
}

TEST(CsvDialect, RefusesWhatItDoesNotKnow) {
  EXPECT_EQ(dialect_error("a,b\n", {.delimiter = "x"}), "data.delimiter: 'x', want \",\", \";\", \"tab\" or \"|\"");
  EXPECT_EQ(dialect_error("a,b\n", {.decimal = "x"}), "data.decimal: 'x', want point or comma");
  EXPECT_THAT(dialect_error("a,b\n", {.decimal = "comma"}), HasSubstr("delimited by commas"));
}

}  // namespace
}  // namespace muster
