#include "data/readers/table_notes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace muster {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// The notes on one column of `rows` values.
template <typename Value>
std::vector<std::string> notes_on(const std::string& name, std::size_t rows, Value value) {
  std::vector<float> numbers;
  for (std::size_t row = 0; row < rows; ++row) numbers.push_back(static_cast<float>(value(static_cast<double>(row))));
  return notes_on_numbers({name}, numbers);
}

TEST(TableNotes, IdsAsFeatures) {
  const auto note = ElementsAre("column 'n' looks like an id and is used as a feature; data.drop leaves it out");
  EXPECT_THAT(notes_on("n", 2000, [](double i) { return i; }), note);
  EXPECT_THAT(notes_on("n", 2000, [](double i) { return 9000 - 2 * i; }), note);
  EXPECT_THAT(notes_on("n", 2000, [](double i) { return 1e8 + i; }), note);  // the same float for several
  EXPECT_THAT(notes_on("patient_id", 30, [](double i) { return std::fmod(i * 7, 11); }),
              ElementsAre(HasSubstr("'patient_id' looks like an id")));
  EXPECT_THAT(notes_on("n", 2000, [](double i) { return i == 1500 ? 3 : i; }), IsEmpty());
  EXPECT_THAT(notes_on("n", 2000, [](double i) { return i + 0.5; }), IsEmpty());
  EXPECT_THAT(notes_on("n", 5, [](double i) { return i; }), IsEmpty());
}

TEST(TableNotes, TimesAsFeatures) {
  EXPECT_THAT(notes_on("t", 100, [](double i) { return 1.7e9 + 3600 * std::fmod(7 * i, 31); }),
              ElementsAre(HasSubstr("'t' looks like a time")));
  EXPECT_THAT(notes_on("t", 100, [](double i) { return 1.7e12 + 1e9 * std::fmod(7 * i, 31); }),
              ElementsAre(HasSubstr("'t' looks like a time")));
  EXPECT_THAT(notes_on("Date", 28, [](double i) { return 20240201 + std::fmod(5 * i, 28); }),
              ElementsAre(HasSubstr("'Date' looks like a time")));
  EXPECT_THAT(notes_on("price", 100, [](double i) { return 1e6 + std::fmod(7 * i, 31); }), IsEmpty());
}

TEST(TableNotes, ColumnsThatNeverVary) {
  EXPECT_THAT(notes_on("n", 5000, [](double) { return 4.5; }), ElementsAre(HasSubstr("the same value in all rows")));
  EXPECT_THAT(notes_on("n", 5000, [](double i) { return i == 4999 ? 4 : 4.5; }), IsEmpty());
  EXPECT_THAT(notes_on_numbers({"a", "b"}, std::vector<float>{1, 2, 1, 2}),
              ElementsAre("columns 'a', 'b' have the same value in all rows; data.drop leaves them out"));
}

TEST(TableNotes, DatesInText) {
  for (const char* text : {"2024-05-31", "31.5.2024", "5/31/24", "2024-05-31T10:00:00Z", "2024/5/1 10:00"}) {
    EXPECT_TRUE(looks_like_time(text)) << text;
  }
  for (const char* text : {"", "a", "1.2.3.4", "1-2", "12-34-567", "2024-05/31", "10:00"}) {
    EXPECT_FALSE(looks_like_time(text)) << text;
  }
}

TEST(TableNotes, LabelsThatAreNoClasses) {
  RawData data;
  data.train.labels.assign(100, 0);
  data.train.classes = 60;
  note_many_labels("price\n", data);
  ASSERT_EQ(data.notes.size(), 1u);
  EXPECT_THAT(data.notes[0], HasSubstr("the label 'price\\n' has 60 different values in 100 rows: is it an id, or"));
  data.notes.clear();
  data.train.classes = 50;
  note_many_labels("kind", data);
  EXPECT_THAT(data.notes, IsEmpty());
}

}  // namespace
}  // namespace muster
