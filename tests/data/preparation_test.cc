#include "data/preparation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace muster {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Preparation coloured_table() {
  return {.source = "csv",
          .shape = {1, 1, 3},
          .scale = {0.1f, 1, 1},
          .offset = {-1e-30f, 0, 0},
          .classes = {"no", "yes"},
          .columns = {{.name = "age", .fill = 1.0 / 3},
                      {.name = "colour",
                       .kind = PreparedColumn::Kind::kOneHot,
                       .categories = {"dark red", "gr\"ün\n"},
                       .fill = 1}},
          .label = "sick",
          .client = "site",
          .split = "part",
          .delimiter = '\t',
          .decimal = DecimalMark::kComma,
          .encoding = TextEncoding::kUtf16};
}

Preparation images() {
  return {.source = "cifar10",
          .storage = Samples::Storage::kBytes,
          .shape = {32, 32, 3},
          .scale = {0.5f, std::numeric_limits<float>::denorm_min(), std::numeric_limits<float>::max()},
          .offset = {0.25f, 0, -3},
          .classes = {"cat", "dog"}};
}

std::string preparation_error(std::string_view json) {
  const auto parsed = parse_preparation(json);
  return parsed ? std::string("no error") : parsed.error().message;
}

TEST(Preparation, IsTheSameAfterWritingAndReading) {
  Preparation sentences{.source = "leaf",
                        .storage = Samples::Storage::kTokens,
                        .shape = {1, 25, 1, 4},
                        .classes = {"0", "1"},
                        .tokens = TokenKind::kWords,
                        .vocabulary = {"a", "the"}};
  Preparation dropping = coloured_table();
  dropping.drops_missing = true;
  for (const Preparation& preparation : {coloured_table(), images(), sentences, dropping, Preparation{}}) {
    const auto back = parse_preparation(to_json(preparation));
    ASSERT_TRUE(back) << back.error().message;
    EXPECT_EQ(*back, preparation) << to_json(preparation);
  }
}

TEST(Preparation, NamesFeatures) {
  EXPECT_THAT(feature_names(coloured_table()), ElementsAre("age", "colour=dark red", "colour=gr\"ün\n"));
  EXPECT_EQ(feature_names(images()), std::vector<std::string>(3072));
}

TEST(Preparation, RefusesWhatItDidNotWrite) {
  EXPECT_THAT(preparation_error(""), HasSubstr("not JSON"));
  EXPECT_THAT(preparation_error("{"), HasSubstr("not JSON"));
  EXPECT_THAT(preparation_error("[]"), HasSubstr("want an object"));
  EXPECT_THAT(preparation_error(std::string(100000, '[')), HasSubstr("not JSON"));
  EXPECT_THAT(preparation_error(R"({"source":7})"), HasSubstr("source: want text"));
  EXPECT_THAT(preparation_error(R"({"storage":"bits"})"), HasSubstr("storage: an unknown word"));
  EXPECT_THAT(preparation_error(R"({"shape":[1,2]})"), HasSubstr("shape: want height"));
  EXPECT_THAT(preparation_error(R"({"shape":[1,0,2]})"), HasSubstr("shape: want three"));
  EXPECT_THAT(preparation_error(R"({"shape":[1,-1,2]})"), HasSubstr("shape: want three"));
  EXPECT_THAT(preparation_error(R"({"shape":[65536,65536,65536]})"), HasSubstr("shape: want three"));
  EXPECT_THAT(preparation_error(R"({"scale":[1e39],"offset":[0]})"), HasSubstr("scale: want finite"));
  EXPECT_THAT(preparation_error(R"({"scale":[1]})"), HasSubstr("offset: want as many"));
  EXPECT_THAT(preparation_error(R"({"scale":[1,2],"offset":[0,0]})"), HasSubstr("scale: want one number"));
  EXPECT_THAT(preparation_error(R"({"scale":["1"]})"), HasSubstr("scale: want a list of numbers"));
  EXPECT_THAT(preparation_error(R"({"classes":["a","a"]})"), HasSubstr("classes: a name comes twice"));
  EXPECT_THAT(preparation_error(R"({"classes":[1]})"), HasSubstr("classes: want a list of texts"));
  EXPECT_THAT(preparation_error(R"({"delimiter":"ab"})"), HasSubstr("delimiter"));
  EXPECT_THAT(preparation_error(R"({"delimiter":"a"})"), HasSubstr("delimiter"));
  EXPECT_THAT(preparation_error(R"({"missing":"keep"})"), HasSubstr("missing: an unknown word"));
  EXPECT_THAT(preparation_error(R"({"columns":{}})"), HasSubstr("columns: want a list"));
  EXPECT_THAT(preparation_error(R"({"columns":[3]})"), HasSubstr("columns[0].: want an object"));
  EXPECT_THAT(preparation_error(R"({"columns":[{"kind":"number"}]})"), HasSubstr("columns[0].name: missing"));
  EXPECT_THAT(preparation_error(R"({"columns":[{"name":"a"},{"name":"a"}],"shape":[1,1,2]})"),
              HasSubstr("column comes twice"));
  EXPECT_THAT(preparation_error(R"({"columns":[{"name":"a"}],"label":"a"})"), HasSubstr("column comes twice"));
  EXPECT_THAT(preparation_error(R"({"columns":[{"name":"a"}],"shape":[1,1,2]})"),
              HasSubstr("columns: want as many features"));
  EXPECT_THAT(preparation_error(R"({"columns":[{"name":"a","kind":"one-hot"}]})"), HasSubstr("needs at least one"));
  EXPECT_THAT(preparation_error(R"({"columns":[{"name":"a","categories":["x"]}]})"),
              HasSubstr("a column of numbers has none"));
  EXPECT_THAT(preparation_error(R"({"columns":[{"name":"a","kind":"one-hot","categories":["x"],"fill":1}]})"),
              HasSubstr("fill: want the index"));
  EXPECT_THAT(preparation_error(R"({"columns":[{"name":"a","fill":"x"}]})"), HasSubstr("fill: want a finite number"));
}

}  // namespace
}  // namespace muster
