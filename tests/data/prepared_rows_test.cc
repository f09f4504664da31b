#include "data/prepared_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scratch_folder.h"

namespace muster {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Preparation table(std::optional<double> fill = std::nullopt) {
  return {.source = "csv",
          .shape = {1, 1, 4},
          .scale = {2, 1, 1, 1},
          .offset = {-1, 0, 0, 0},
          .classes = {"no", "yes"},
          .columns = {{.name = "age", .fill = fill},
                      {.name = "city",
                       .kind = PreparedColumn::Kind::kOneHot,
                       .categories = {"Rome", "Ulm"},
                       .fill = fill ? std::optional<double>(1) : std::nullopt},
                      {.name = "b", .fill = fill}},
          .label = "sick",
          .client = "site",
          .split = "part"};
}

std::string row_error(std::string_view text, const Preparation& preparation = table()) {
  const auto rows = prepare_table(text, preparation);
  return rows ? "no error" : rows.error().message;
}

TEST(PreparedRows, FindsColumnsByName) {
  const auto rows = prepare_table("b;junk;city;site;age;part\n0,5;x;Ulm;s1;30;1\n-1;y;Rome;s2;31,5;0\n", table());
  ASSERT_TRUE(rows) << rows.error().message;
  EXPECT_THAT(rows->samples.floats, ElementsAre(30, 0, 1, 0.5f, 31.5f, 1, 0, -1));
  EXPECT_THAT(rows->samples.scale, ElementsAre(2, 1, 1, 1));
  EXPECT_THAT(rows->samples.offset, ElementsAre(-1, 0, 0, 0));
  EXPECT_EQ(rows->samples.classes, 2u);
  EXPECT_FALSE(rows->has_labels);
  EXPECT_THAT(rows->samples.labels, ElementsAre(0, 0));
  EXPECT_THAT(rows->clients, ElementsAre("s1", "s2"));
  EXPECT_THAT(rows->lines, ElementsAre(2, 3));
  EXPECT_THAT(rows->notes, ElementsAre("'junk' is not used: the model was not trained with it"));
}

TEST(PreparedRows, LabelsAreThoseOfTraining) {
  const auto rows = prepare_table("age,city,b,sick\n1,Ulm,2,yes\n1,Ulm,2,no\n", table());
  ASSERT_TRUE(rows) << rows.error().message;
  EXPECT_TRUE(rows->has_labels);
  EXPECT_THAT(rows->samples.labels, ElementsAre(1, 0));
  EXPECT_THAT(rows->clients, IsEmpty());
  EXPECT_THAT(rows->notes, IsEmpty());
  EXPECT_EQ(row_error("age,city,b,sick\n1,Ulm,2,no\n1,Ulm,2,yess\n"),
            "line 3, column 'sick': 'yess' is not among the 2 classes of the training rows; is 'yes' meant?");
  EXPECT_THAT(row_error("age,city,b,sick\n1,Ulm,2,no\n1,Ulm,2,\n"), HasSubstr("line 3, column 'sick': missing label"));
  const auto none = prepare_table("age,city,b,sick\n1,Ulm,2,?\n", table());
  ASSERT_TRUE(none);
  EXPECT_FALSE(none->has_labels);
  Preparation numbers = table();
  numbers.classes = {"1", "2.5"};
  const auto by_value = prepare_table("age,city,b,sick\n1,Ulm,2,1.0\n1,Ulm,2,2.50\n", numbers);
  ASSERT_TRUE(by_value) << by_value.error().message;
  EXPECT_THAT(by_value->samples.labels, ElementsAre(0, 1));
}

TEST(PreparedRows, FillsAsInTraining) {
  const auto rows = prepare_table("age,city,b\n,NA,?\n", table(7.5));
  ASSERT_TRUE(rows) << rows.error().message;
  EXPECT_THAT(rows->samples.floats, ElementsAre(7.5f, 0, 1, 7.5f));
  EXPECT_THAT(row_error("age,city,b\n1,Ulm,1\n1,,1\n"), HasSubstr("line 3, column 'city': missing value ('')"));
  EXPECT_THAT(row_error("age,city,b\n1,Ulm,1\nNA,Ulm,1\n"), HasSubstr("line 3, column 'age': missing value ('NA')"));
}

TEST(PreparedRows, LeavesRowsOutAsInTraining) {
  Preparation dropping = table();
  dropping.drops_missing = true;
  // A category and a class that only rows left out have are not asked for.
  const auto rows = prepare_table(
      "b,city,age,site,sick\n1,Ulm,2,s1,yes\n\n?,Bonn,3,s1,no\n2,,3,s1,maybe\n3,Rome,4,s2,no\n"
      "1,Ulm,2,,yes\n1,Ulm,2,s1,NA\n",
      dropping);
  ASSERT_TRUE(rows) << rows.error().message;
  EXPECT_THAT(rows->samples.floats, ElementsAre(2, 0, 1, 1, 4, 1, 0, 3));
  EXPECT_THAT(rows->samples.labels, ElementsAre(1, 0));
  EXPECT_THAT(rows->clients, ElementsAre("s1", "s2"));
  EXPECT_THAT(rows->lines, ElementsAre(2, 6));
  EXPECT_THAT(rows->notes,
              ElementsAre("4 of 6 rows have missing values and are left out, the first in line 4: the model "
                          "was trained with data.missing = \"drop\""));
  const auto whole = prepare_table("b,city,age,site,sick\n1,Ulm,2,,\n", dropping);
  ASSERT_TRUE(whole) << whole.error().message;
  EXPECT_FALSE(whole->has_labels);
  EXPECT_THAT(whole->notes, IsEmpty());
  EXPECT_EQ(row_error("age,city,b\n1,Bonn,\n1,Bonn,2\n", dropping),
            "line 3, column 'city': 'Bonn' is not among the 2 values of the training rows");
  EXPECT_EQ(row_error("age,city,b\n1,Ulm,\n1,,2\n", dropping),
            "each of the 2 rows has a missing value, and the model was trained with data.missing = \"drop\"");
  EXPECT_EQ(row_error("age,city,b\n1,Ulm,x\n", dropping), "line 2, column 'b': 'x' is not a number");
  EXPECT_EQ(row_error("age,city,b\n1,Ulm,1\n1,,x\n", dropping), "line 3, column 'b': 'x' is not a number");
}

TEST(PreparedRows, NamesTheFirstFaultByLine) {
  EXPECT_EQ(row_error("age,citi,b\n1,Ulm,2\n"),
            "line 1: no column 'city', which the model was trained with; is 'citi' meant?");
  EXPECT_EQ(row_error("age,city,b\n1,Ulm,2\n1,Bonn,2\n"),
            "line 3, column 'city': 'Bonn' is not among the 2 values of the training rows");
  EXPECT_EQ(row_error("age,city,b\n1,Bonn,2\nx,Ulm,2\n"),
            "line 2, column 'city': 'Bonn' is not among the 2 values of the training rows");
  EXPECT_EQ(row_error("age,city,b\n\n\"x\ny\",Ulm,2\n"), "line 3, column 'age': 'x\\ny' is not a number");
  EXPECT_EQ(row_error("age,city,b\n1,Ulm,inf\n"), "line 2, column 'b': 'inf', want a number from -3.4e38 to 3.4e38");
  EXPECT_EQ(row_error("age,city,b\n1,Ulm\n"), "line 2: 2 cells, the header has 3 columns");
  EXPECT_EQ(row_error("age,city,b\n"), "no rows after the header");
  EXPECT_EQ(row_error(""), "empty file, want a header row");
}

// A file that does not show its decimal mark is read with the run's; a comma further down decides.
TEST(PreparedRows, DecimalCommaWhereTheFirstRowsHaveNone) {
  std::string text = "age;city;b\n";
  for (int i = 0; i < 300; ++i) text += "1;Ulm;2\n";
  const auto rows = prepare_table(text + "1;Ulm;2,5\n", table());
  ASSERT_TRUE(rows) << rows.error().message;
  EXPECT_EQ(rows->samples.floats.back(), 2.5f);
}

TEST(PreparedRows, PathsAreNamed) {
  const ScratchFolder folder;
  const auto file = folder.write("new.csv", std::string("age,city,b\n1,Bonn,2\n"));
  EXPECT_THAT(prepare_rows(file, table()).error().message, HasSubstr("new.csv: line 2, column 'city'"));
  EXPECT_THAT(prepare_rows(folder / "none.csv", table()).error().message, HasSubstr("none.csv: cannot open"));
  Preparation images{.source = "mnist", .storage = Samples::Storage::kBytes, .shape = {28, 28, 1}};
  EXPECT_THAT(prepare_rows(file, images).error().message, HasSubstr("want an .npz file with an array x"));
}

}  // namespace
}  // namespace muster
