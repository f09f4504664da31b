#include "data/error_text.h"
#include "data/readers/csv.h"
#include "scratch_folder.h"

namespace muster {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string csv_error(std::string_view text, const TableOptions& options = {}) {
  return error_of(parse_csv(text, options));
}

TEST(CsvReader, FeaturesAreAllOtherColumns) {
  auto data = parse_csv("a,label,b\n1,0,2\n3.5,1,-4e1\n", {});
  ASSERT_TRUE(data) << error_of(data);
  EXPECT_THAT(data->train.floats, ElementsAre(1, 2, 3.5f, -40));
  EXPECT_THAT(data->train.labels, ElementsAre(0, 1));
  EXPECT_EQ(data->train.shape, (Shape{1, 1, 2}));
  EXPECT_EQ(data->train.classes, 2u);
  EXPECT_EQ(data->test.size(), 0u);
  EXPECT_THAT(data->class_names, IsEmpty());
  EXPECT_THAT(data->client_names, IsEmpty());
}

TEST(CsvReader, QuotesLineEndsAndByteOrderMark) {
  auto data = parse_csv(
      "\xef\xbb\xbf\"a, b\",label\r\n"
      "\"1.5\",\"big \"\"red\"\" dog\"\r\n"
      "+2 , \"cat\r\nnap\"\r\n\r\n",
      {});
  // A quote after a space does not open a quoted field.
  EXPECT_THAT(error_of(data), HasSubstr("line 3: a quote inside"));
  data = parse_csv(
      "\xef\xbb\xbf\"a, b\",label\r\n"
      "\"1.5\",\"big \"\"red\"\" dog\"\r\n"
      "+2 ,\"cat\r\nnap\"\r\n\r\n",
      {});
  ASSERT_TRUE(data) << error_of(data);
  EXPECT_THAT(data->train.floats, ElementsAre(1.5f, 2));
  EXPECT_THAT(data->class_names, ElementsAre("big \"red\" dog", "cat\r\nnap"));
}

TEST(CsvReader, LabelsThatAreNotIdsAreNumberedInOrder) {
  auto words = parse_csv("a,label\n1,no\n2,yes\n3,no\n4,maybe\n", {});
  ASSERT_TRUE(words) << error_of(words);
  EXPECT_THAT(words->train.labels, ElementsAre(1, 2, 1, 0));
  EXPECT_THAT(words->class_names, ElementsAre("maybe", "no", "yes"));
  auto numbers = parse_csv("a,label\n1,10\n2,-1\n3,9\n", {});
  ASSERT_TRUE(numbers) << error_of(numbers);
  EXPECT_THAT(numbers->train.labels, ElementsAre(2, 0, 1));
  EXPECT_THAT(numbers->class_names, ElementsAre("-1", "9", "10"));
  auto ids = parse_csv("a,label\n1,2\n2,0\n3,1.0\n", {});
  ASSERT_TRUE(ids) << error_of(ids);
  EXPECT_THAT(ids->train.labels, ElementsAre(2, 0, 1));
  EXPECT_THAT(ids->class_names, IsEmpty());
}

TEST(CsvReader, ClientsAndSplit) {
  auto data = parse_csv("user,a,y,part\nbob,1,0,train\nann,2,1,0\nbob,3,1,1\ncy,4,0,test\n",
                        {.label = "y", .client = "user", .split = "part"});
  ASSERT_TRUE(data) << error_of(data);
  EXPECT_THAT(data->client_names, ElementsAre("ann", "bob", "cy"));
  EXPECT_THAT(data->train_clients, ElementsAre(1, 0));
  EXPECT_THAT(data->test_clients, ElementsAre(1, 2));
  EXPECT_THAT(data->train.floats, ElementsAre(1, 2));
  EXPECT_THAT(data->test.floats, ElementsAre(3, 4));
  EXPECT_THAT(data->test.labels, ElementsAre(1, 0));
  EXPECT_EQ(data->test.shape, data->train.shape);
}

TEST(CsvReader, MissingCellsAreErrorsUnlessFilled) {
  EXPECT_THAT(csv_error("a,b,label\n1,2,0\n3,,1\n"), HasSubstr("line 3, column 'b': missing value"));
  EXPECT_THAT(csv_error("a,b,label\n?,2,0\n"), HasSubstr("line 2, column 'a': missing value ('?')"));
  // The mean is that of the training rows alone: (1 + 5) / 2.
  auto data = parse_csv("a,label,split\n1,0,0\n?,1,0\n5,0,0\n90,0,1\n,1,1\n", {.missing = MissingCells::kMean});
  ASSERT_TRUE(data) << error_of(data);
  EXPECT_THAT(data->train.floats, ElementsAre(1, 3, 5));
  EXPECT_THAT(data->test.floats, ElementsAre(90, 3));
  EXPECT_THAT(csv_error("a,label\n?,0\n", {.missing = MissingCells::kMean}), HasSubstr("no training row has a value"));
  EXPECT_THAT(csv_error("a,label\n1,?\n", {.missing = MissingCells::kMean}),
              HasSubstr("column 'label': missing value"));
}

TEST(CsvReader, RefusesWhatIsNotAFiniteNumber) {
  EXPECT_THAT(csv_error("a,label\n-inf,0\n"), HasSubstr("'-inf', want a number from -3.4e38 to 3.4e38"));
  EXPECT_THAT(csv_error("a,label\n1e400,0\n"), HasSubstr("want a number from -3.4e38 to 3.4e38"));
  EXPECT_THAT(csv_error("a,label\n1e39,0\n"), HasSubstr("want a number from -3.4e38 to 3.4e38"));
  EXPECT_THAT(csv_error("a,label\n1,-nan\n2,1\n"), HasSubstr("line 2, column 'label': label '-nan', want a finite"));
  auto tiny = parse_csv("a,label\n1e-400,0\n", {});
  ASSERT_TRUE(tiny) << error_of(tiny);
  EXPECT_EQ(tiny->train.floats[0], 0.0f);
}

TEST(CsvReader, RefusesBrokenTables) {
  EXPECT_THAT(csv_error(""), HasSubstr("empty file"));
  EXPECT_THAT(csv_error("a,label\n"), HasSubstr("no rows"));
  EXPECT_THAT(csv_error("a,b,label\n1,2,0\n1,2\n"), HasSubstr("line 3: 2 cells, the header has 3 columns"));
  EXPECT_THAT(csv_error("a,label\n1,0\n \n2,1\n"), HasSubstr("line 3: 1 cells"));
  EXPECT_THAT(csv_error("a,a,label\n1,2,0\n"), HasSubstr("column 'a' comes twice"));
  EXPECT_THAT(csv_error(",label\n1,0\n"), HasSubstr("no feature columns"));
  EXPECT_THAT(csv_error("label,client\n1,0\n"), HasSubstr("no feature columns"));
  EXPECT_THAT(csv_error("a,label\n1,\"x\n"), HasSubstr("line 2: a quoted field never ends"));
  EXPECT_THAT(csv_error("a,label\n1,\"x\"y\n"), HasSubstr("text after a closing quote"));
  EXPECT_THAT(csv_error("a,label,split\n1,0,2\n"), HasSubstr("column 'split': '2', want 0 or train, 1 or test"));
  EXPECT_THAT(csv_error("a,label,split\n1,0,1\n"), HasSubstr("no training rows"));
}

TEST(CsvReader, RefusesNamesThatAreNotThere) {
  EXPECT_THAT(csv_error("a,b\n1,0\n"), HasSubstr("data.label: no column 'label', there are a, b"));
  EXPECT_THAT(csv_error("a,label\n1,0\n", {.client = "user"}), HasSubstr("client: no column 'user'"));
  EXPECT_THAT(csv_error("a,label\n1,0\n", {.split = "part"}), HasSubstr("split: no column 'part'"));
  EXPECT_EQ(csv_error("a,label\n1,0\n", {.client = "label"}),
            "data.label and data.client name the same column, 'label'");
  EXPECT_EQ(parse_csv("a,b\n1,0\n", {}).error().code, ErrorCode::kUsage);
}

TEST(CsvReader, NamesTheNearestColumn) {
  EXPECT_THAT(csv_error("a,outcome\n1,0\n", {.label = "outcom"}),
              HasSubstr("data.label: no column 'outcom' (did you mean 'outcome'?), there are a, outcome"));
  EXPECT_THAT(csv_error("height,label\n1,0\n", {.features = {"hieght"}}), HasSubstr("did you mean 'height'?"));
  EXPECT_THAT(csv_error("height,label\n1,0\n", {.drop = {"weight"}}), HasSubstr("data.drop: no column 'weight'"));
  EXPECT_THAT(csv_error("a,label\n1,0\n", {.categorical = {"b"}}), HasSubstr("data.categorical: no column 'b'"));
}

TEST(CsvReader, FeaturesAndDropChooseColumns) {
  const std::string text = "id,a,city,b,label\n7,1,x,2,0\n8,3,y,4,1\n";
  auto only = parse_csv(text, {.features = {"b", "a"}});
  ASSERT_TRUE(only) << error_of(only);
  EXPECT_THAT(only->train.floats, ElementsAre(1, 2, 3, 4));  // in the order of the file
  auto without = parse_csv(text, {.drop = {"id", "city"}});
  ASSERT_TRUE(without) << error_of(without);
  EXPECT_THAT(without->train.floats, ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(csv_error(text, {.features = {"label"}}), HasSubstr("data.features: 'label' is the label"));
  EXPECT_THAT(csv_error(text, {.drop = {"label"}}), HasSubstr("data.drop: 'label' is the label"));
  EXPECT_THAT(csv_error(text, {.features = {"a"}, .drop = {"a"}}), HasSubstr("in data.features too"));
  EXPECT_THAT(csv_error(text, {.drop = {"a"}, .categorical = {"a"}}), HasSubstr("'a' is not a feature"));
}

TEST(CsvReader, TextBecomesAFeaturePerValue) {
  auto data = parse_csv("a,city,b,label\n1,Rome,2,0\n3,Ulm,4,1\n5,Rome,6,0\n", {});
  ASSERT_TRUE(data) << error_of(data);
  EXPECT_THAT(data->train.floats, ElementsAre(1, 1, 0, 2, 3, 0, 1, 4, 5, 1, 0, 6));
  EXPECT_THAT(feature_names(data->preparation), ElementsAre("a", "city=Rome", "city=Ulm", "b"));
  EXPECT_THAT(data->notes, Contains("each value of these columns is a feature of its own: 'city' (2)"));
  auto asked = parse_csv("a,label\n10,0\n9.0,1\n9,1\n", {.categorical = {"a"}});
  ASSERT_TRUE(asked) << error_of(asked);
  EXPECT_THAT(asked->train.floats, ElementsAre(0, 1, 1, 0, 1, 0));
  EXPECT_THAT(feature_names(asked->preparation), ElementsAre("a=9", "a=10"));
}

// Beyond the first rows that are looked at.
TEST(CsvReader, FindsTextAndDecimalCommasFarDown) {
  std::string text = "a;b;label\n";
  for (int i = 0; i < 500; ++i) text += fmt::format("{};{};{}\n", i % 5, i % 7, i % 2);
  auto data = parse_csv(text + "2,5;x;0\n", {});
  ASSERT_TRUE(data) << error_of(data);
  EXPECT_EQ(data->preparation.decimal, DecimalMark::kComma);
  EXPECT_EQ(data->preparation.columns[1].categories.size(), 8u);
  EXPECT_EQ(data->train.floats[500 * 9], 2.5f);
  EXPECT_THAT(data->notes, Contains(HasSubstr("column 'b' has numbers and text (line 502: 'x')")));
}

TEST(CsvReader, RefusesTextWithManyValues) {
  std::string text = "a,name,label\n";
  for (int i = 0; i < 51; ++i) text += fmt::format("{},n{},{}\n", i % 5, i, i % 2);
  EXPECT_THAT(csv_error(text), AllOf(HasSubstr("line 2, column 'name': 'n0' is not a number, and the column has 51"),
                                     HasSubstr("an id?"), HasSubstr("data.drop"), HasSubstr("data.categorical")));
  EXPECT_TRUE(parse_csv(text, {.drop = {"name"}}));
  EXPECT_TRUE(parse_csv(text, {.categorical = {"name"}}));
}

TEST(CsvReader, MissingCellsOfAllKinds) {
  for (const char* cell : {"", "?", "NA", "N/A", "NaN", "nan", "null", "NULL", " ", "\"\"", "\" NA \""}) {
    const std::string text = fmt::format("a,c,label\n1,x,0\n{},y,1\n4,y,1\n3,{},1\n", cell, cell);
    EXPECT_THAT(csv_error(text), HasSubstr("line 3, column 'a': missing value ('")) << cell;
    auto filled = parse_csv(text, {.missing = MissingCells::kMean});
    ASSERT_TRUE(filled) << cell << error_of(filled);
    EXPECT_EQ(filled->train.floats[3], static_cast<float>(8.0 / 3)) << cell;
    EXPECT_EQ(filled->train.floats[9 + 2], 1) << cell;  // y is the most frequent
    EXPECT_EQ(filled->preparation.columns[0].fill, static_cast<float>(8.0 / 3));
    EXPECT_EQ(filled->preparation.columns[1].fill, 1);
    auto dropped = parse_csv(text, {.missing = MissingCells::kDrop});
    ASSERT_TRUE(dropped) << cell << error_of(dropped);
    EXPECT_THAT(dropped->train.floats, ElementsAre(1, 1, 0, 4, 0, 1));
    EXPECT_THAT(dropped->notes, Contains(HasSubstr("2 of 4 rows have missing values and are left out")));
  }
  EXPECT_THAT(csv_error("a,label\n,0\n", {.missing = MissingCells::kDrop}), HasSubstr("each of the 1 rows"));
}

// A class or site that only dropped rows have is none.
TEST(CsvReader, DroppedRowsLeaveNothingBehind) {
  auto data = parse_csv("a,label,client\n1,x,u\n,y,v\n2,z,u\n", {.missing = MissingCells::kDrop});
  ASSERT_TRUE(data) << error_of(data);
  EXPECT_THAT(data->class_names, ElementsAre("x", "z"));
  EXPECT_THAT(data->client_names, ElementsAre("u"));
}

TEST(CsvReader, PassesOverColumnsWithoutAName) {
  auto data = parse_csv(",a,label,\n0,5,x,\n1,6,y,\n", {});
  ASSERT_TRUE(data) << error_of(data);
  EXPECT_THAT(data->train.floats, ElementsAre(5, 6));
  EXPECT_THAT(data->notes, Contains("column 1 has no name and is not used"));
}

TEST(CsvReader, ReadsFlatRowsAsImages) {
  auto data = parse_csv("a,b,c,d,label\n1,2,3,4,0\n", {.shape = {2, 2, 1}});
  ASSERT_TRUE(data) << error_of(data);
  EXPECT_EQ(data->train.shape, (Shape{2, 2, 1}));
  EXPECT_THAT(csv_error("a,b,c,d,label\n1,2,3,4,0\n", {.shape = {2, 3, 1}}),
              HasSubstr("shape: [2, 3, 1] is not a row's 4 features"));
  EXPECT_THAT(csv_error("a,label\n1,0\n", {.shape = {4294967295, 4294967295, 4294967295}}), HasSubstr("not a row's"));
  EXPECT_THAT(csv_error("a,label\n1,0\n", {.shape = {0, 1, 1}}), HasSubstr("not a row's"));
  EXPECT_THAT(csv_error("a,label\n1,0\n", {.shape = {1}}), HasSubstr("want 3: height, width, channels"));
}

TEST(CsvReader, PathErrorsNameTheFile) {
  const ScratchFolder folder;
  const auto path = folder.write("bad.csv", std::string("a,label\n-inf,0\n"));
  EXPECT_THAT(error_of(read_csv(path, {})), HasSubstr("bad.csv: line 2, column 'a'"));
  EXPECT_THAT(error_of(read_csv(folder.path() / "none.csv", {})), HasSubstr("none.csv"));
}

}  // namespace
}  // namespace muster
