// A csv column of texts as samples, and new rows of the same kind.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/prepared_rows.h"
#include "data/readers/csv.h"

namespace muster {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kTable =
    "said,mood,split,other\n"
    "good good day,glad,train,1\n"
    "bad day,sad,train,2\n"
    "good night,glad,test,3\n";

TableOptions by_words(std::uint32_t length = 3) {
  TableOptions options{.label = "mood"};
  options.text = "said";
  options.tokens = {.tokens = TokenKind::kWords, .length = length};
  return options;
}

// As the source does, which knows the samples' form only after reading.
Preparation preparation_of(const RawData& data) {
  Preparation preparation = data.preparation;
  preparation.source = "csv";
  preparation.storage = data.train.storage;
  preparation.shape = data.train.shape;
  preparation.classes = data.class_names;
  return preparation;
}

TEST(TextColumn, BecomesTokensOfTheTrainingTexts) {
  const auto data = parse_csv(kTable, by_words());
  ASSERT_TRUE(data.ok()) << data.error().message;
  EXPECT_THAT(data->preparation.vocabulary, ElementsAre("day", "good", "bad"));
  EXPECT_EQ(data->train.storage, Samples::Storage::kTokens);
  EXPECT_EQ(data->train.shape, (Shape{1, 3, 1, 5}));
  EXPECT_THAT(data->train.tokens, ElementsAre(3, 3, 2, 4, 2, 0));
  EXPECT_THAT(data->test.tokens, ElementsAre(3, 1, 0));
  EXPECT_THAT(data->class_names, ElementsAre("glad", "sad"));
}

TEST(TextColumn, IsReadInNewRowsAsInTraining) {
  const auto data = parse_csv(kTable, by_words());
  ASSERT_TRUE(data.ok());
  const auto stored = parse_preparation(to_json(preparation_of(*data)));
  ASSERT_TRUE(stored.ok()) << stored.error().message;
  EXPECT_EQ(*stored, preparation_of(*data));
  const auto rows = prepare_table("mood,said\nsad,bad bad dream\n", *stored);
  ASSERT_TRUE(rows.ok()) << rows.error().message;
  EXPECT_THAT(rows->samples.tokens, ElementsAre(4, 4, 1));
  EXPECT_THAT(rows->samples.labels, ElementsAre(1));
  const auto missing = prepare_table("mood,said\nsad,\n", *stored);
  ASSERT_FALSE(missing.ok());
  EXPECT_THAT(missing.error().message, HasSubstr("line 2, column 'said': missing value"));
}

TEST(TextColumn, AMissingTextIsEmptyWhereMissingCellsAreFilled) {
  TableOptions options = by_words();
  EXPECT_FALSE(parse_csv("said,mood\ngood,glad\n,sad\n", options).ok());
  options.missing = MissingCells::kMean;
  const auto data = parse_csv("said,mood\ngood,glad\n,sad\n", options);
  ASSERT_TRUE(data.ok()) << data.error().message;
  EXPECT_THAT(data->train.tokens, ElementsAre(2, 0, 0, 0, 0, 0));
  const auto rows = prepare_table("said\nNA\n", preparation_of(*data));
  ASSERT_TRUE(rows.ok()) << rows.error().message;
  EXPECT_THAT(rows->samples.tokens, ElementsAre(0, 0, 0));
}

TEST(TextColumn, WithoutAnyTextIsRefused) {
  const auto data = parse_csv("said,mood\n--,glad\n- -,sad\n", by_words());
  ASSERT_FALSE(data.ok());
  EXPECT_EQ(data.error().message, "column 'said': no training row has any text");
}

TEST(TextColumn, OfAStoredPreparationIsTheOnlyColumn) {
  const auto error_of = [](const char* json) {
    const auto parsed = parse_preparation(json);
    return parsed.ok() ? std::string() : parsed.error().message;
  };
  EXPECT_THAT(error_of(R"({"storage":"tokens","shape":[1,3,1],"columns":[{"name":"a","kind":"text"}]})"),
              HasSubstr("columns: want a column of text to be the only one"));
  EXPECT_THAT(error_of(R"({"storage":"floats","shape":[1,3,1],"columns":[{"name":"a","kind":"text"}],)"
                       R"("tokens":"words","vocabulary":["b"]})"),
              HasSubstr("storage: want tokens of a column of text"));
}

}  // namespace
}  // namespace muster
