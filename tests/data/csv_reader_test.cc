#include "data/readers/csv.h"
#include "scratch_folder.h"

namespace muster {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string error_of(const auto& result) {
  return result ? std::string("no error") : result.error().message;
}
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
  auto data = parse_csv("a,label,split\n1,0,0\n?,1,0\n5,0,0\n90,0,1\n,1,1\n", {.fill_missing = true});
  ASSERT_TRUE(data) << error_of(data);
  EXPECT_THAT(data->train.floats, ElementsAre(1, 3, 5));
  EXPECT_THAT(data->test.floats, ElementsAre(90, 3));
  EXPECT_THAT(csv_error("a,label\n?,0\n", {.fill_missing = true}), HasSubstr("no training row has a value"));
  EXPECT_THAT(csv_error("a,label\n1,?\n", {.fill_missing = true}), HasSubstr("column 'label': missing value"));
}

TEST(CsvReader, RefusesWhatIsNotAFiniteNumber) {
  EXPECT_THAT(csv_error("a,label\nNaN,0\n"), HasSubstr("line 2, column 'a': 'NaN', want a finite number"));
  EXPECT_THAT(csv_error("a,label\n-inf,0\n"), HasSubstr("'-inf', want a finite number"));
  EXPECT_THAT(csv_error("a,label\n1e400,0\n"), HasSubstr("want a finite number"));
  EXPECT_THAT(csv_error("a,label\n1e39,0\n"), HasSubstr("want a finite number"));
  EXPECT_THAT(csv_error("a,label\n1,nan\n2,1\n"), HasSubstr("label 'nan'"));
  EXPECT_THAT(csv_error("a,city,label\n1,Paris,0\n"),
              HasSubstr("line 2, column 'city': 'Paris' is not a number; a column of text must be named"));
  EXPECT_THAT(csv_error("a,label\n0x10,0\n"), HasSubstr("'0x10' is not a number"));
  EXPECT_THAT(csv_error("a,label\n+-1,0\n"), HasSubstr("'+-1' is not a number"));
  auto tiny = parse_csv("a,label\n1e-400,0\n", {});
  ASSERT_TRUE(tiny) << error_of(tiny);
  EXPECT_EQ(tiny->train.floats[0], 0.0f);
}

TEST(CsvReader, RefusesBrokenTables) {
  EXPECT_THAT(csv_error(""), HasSubstr("empty file"));
  EXPECT_THAT(csv_error("a,label\n"), HasSubstr("no rows"));
  EXPECT_THAT(csv_error("a,b,label\n1,2,0\n1,2\n"), HasSubstr("line 3: 2 cells, the header has 3 columns"));
  EXPECT_THAT(csv_error("a,label\n1,0\n\n2,1\n"), HasSubstr("line 3: 1 cells"));
  EXPECT_THAT(csv_error("a,a,label\n1,2,0\n"), HasSubstr("column 'a' comes twice"));
  EXPECT_THAT(csv_error(",label\n1,0\n"), HasSubstr("column 1 has no name"));
  EXPECT_THAT(csv_error("label,client\n1,0\n"), HasSubstr("no feature columns"));
  EXPECT_THAT(csv_error("a,label\n1,\"x\n"), HasSubstr("line 2: a quoted field never ends"));
  EXPECT_THAT(csv_error("a,label\n1,\"x\"y\n"), HasSubstr("text after a closing quote"));
  EXPECT_THAT(csv_error("a,label,split\n1,0,2\n"), HasSubstr("column 'split': '2', want 0 or train, 1 or test"));
  EXPECT_THAT(csv_error("a,label,split\n1,0,1\n"), HasSubstr("no training rows"));
}

TEST(CsvReader, RefusesNamesThatAreNotThere) {
  EXPECT_THAT(csv_error("a,b\n1,0\n"), HasSubstr("label: no column 'label', there are a, b"));
  EXPECT_THAT(csv_error("a,label\n1,0\n", {.client = "user"}), HasSubstr("client: no column 'user'"));
  EXPECT_THAT(csv_error("a,label\n1,0\n", {.split = "part"}), HasSubstr("split: no column 'part'"));
  EXPECT_THAT(csv_error("a,label\n1,0\n", {.client = "label"}), HasSubstr("the same column"));
  EXPECT_EQ(parse_csv("a,b\n1,0\n", {}).error().code, ErrorCode::kUsage);
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
  const auto path = folder.write("bad.csv", std::string("a,label\nnan,0\n"));
  EXPECT_THAT(error_of(read_csv(path, {})), HasSubstr("bad.csv: line 2, column 'a'"));
  EXPECT_THAT(error_of(read_csv(folder.path() / "none.csv", {})), HasSubstr("none.csv"));
}

}  // namespace
}  // namespace muster
