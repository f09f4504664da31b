// Five tables as people have them, none of them prepared for Muster: each is written to a file, read with no more than
// the names of its label and site columns, and checked cell by cell where it matters; the rows are then read again as
// new rows and must give the same floats.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "base/random.h"
#include "data/catalogue.h"
#include "data/prepared_rows.h"
#include "scratch_folder.h"

namespace muster {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string with_comma(double value) {
  std::string text = fmt::format("{:.3f}", value);
  text[text.find('.')] = ',';
  return text;
}

std::string to_utf16(std::string_view ascii) {
  std::string bytes = "\xff\xfe";
  for (const char c : ascii) bytes += {c, '\0'};
  return bytes;
}

RawData read(const DataOptions& options) {
  std::string name;
  auto data = read_source(options, name);
  EXPECT_TRUE(data) << data.error().message;
  return data ? *std::move(data) : RawData{};
}

// What training sees of a table without a split column must be what prediction sees.
void expect_same_as_new_rows(const RawData& data, const std::string& path) {
  const auto rows = prepare_rows(path, data.preparation);
  ASSERT_TRUE(rows) << rows.error().message;
  EXPECT_TRUE(rows->has_labels);
  ASSERT_EQ(rows->samples.labels, data.train.labels);
  const std::size_t width = data.train.shape.size();
  std::vector<std::uint32_t> all(data.train.size());
  std::iota(all.begin(), all.end(), 0u);
  std::vector<float> trained(all.size() * width);
  std::vector<float> predicted(all.size() * width);
  std::vector<std::int32_t> labels(all.size());
  gather({&data.train, all, 0}, all, {}, nullptr, trained.data(), labels.data());
  gather({&rows->samples, all, 0}, all, {}, nullptr, predicted.data(), labels.data());
  EXPECT_EQ(trained, predicted);
}

TEST(OwnTables, SemicolonsAndDecimalCommas) {
  std::string text = "Größe;Gewicht;Befund;Klinik\r\n";
  for (int i = 0; i < 300; ++i) {
    text += fmt::format("{};{};{};Klinik {}\r\n", with_comma(1.5 + i / 1000.0), with_comma(-i * 0.25),
                        i % 3 == 0 ? "krank" : "gesund", i % 4);
  }
  const ScratchFolder folder;
  const std::string path = folder.write("klinik.csv", text).string();
  const RawData data = read({.source = "csv", .path = path, .label = "Befund", .client = "Klinik"});
  ASSERT_EQ(data.train.size(), 300u);
  EXPECT_EQ(data.preparation.delimiter, ';');
  EXPECT_EQ(data.preparation.decimal, DecimalMark::kComma);
  EXPECT_THAT(feature_names(data.preparation), ElementsAre("Größe", "Gewicht"));
  EXPECT_EQ(data.train.floats[2 * 41], static_cast<float>(1.541));
  EXPECT_EQ(data.train.floats[2 * 41 + 1], -10.25f);
  EXPECT_THAT(data.preparation.classes, ElementsAre("gesund", "krank"));
  EXPECT_EQ(data.train.labels[42], 1);
  EXPECT_THAT(data.client_names, ElementsAre("Klinik 0", "Klinik 1", "Klinik 2", "Klinik 3"));
  EXPECT_EQ(data.train_clients[7], 3u);
  expect_same_as_new_rows(data, path);
}

TEST(OwnTables, MissingValuesAndTwelveCategories) {
  const char* const missing[] = {"", "NA", "?", "null", "NaN"};
  std::string text = "age,month,income,bought\n";
  for (int i = 0; i < 600; ++i) {
    const std::string age = i % 10 == 3 ? missing[i / 10 % 5] : fmt::format("{}", 20 + i % 50);
    const std::string month = i % 60 == 7 ? "N/A" : fmt::format("m{:02}", i % 12 + 1);
    text += fmt::format("{},{},{}.5,{}\n", age, month, i * 3 % 100, i % 2 ? "yes" : "no");
  }
  const ScratchFolder folder;
  const std::string path = folder.write("shop.csv", text).string();
  std::string name;
  EXPECT_THAT(read_source({.source = "csv", .path = path, .label = "bought"}, name).error().message,
              HasSubstr("shop.csv: line 5, column 'age': missing value ('')"));
  const RawData data = read({.source = "csv", .path = path, .label = "bought", .missing = "mean"});
  ASSERT_EQ(data.train.shape.size(), 14u);
  ASSERT_EQ(data.preparation.columns.size(), 3u);
  const PreparedColumn& month = data.preparation.columns[1];
  ASSERT_EQ(month.categories.size(), 12u);
  EXPECT_EQ(month.categories[11], "m12");
  double sum = 0;
  for (int i = 0; i < 600; ++i) sum += i % 10 == 3 ? 0 : 20 + i % 50;
  const auto mean = static_cast<float>(sum / 540);
  EXPECT_EQ(data.preparation.columns[0].fill, mean);
  EXPECT_EQ(data.train.floats[14 * 13], mean);
  EXPECT_EQ(data.train.floats[14 * 14], 34);
  EXPECT_EQ(data.train.floats[14 * 14 + 3], 1);  // m03
  EXPECT_EQ(data.train.floats[14 * 14 + 13], 42.5f);
  EXPECT_THAT(data.notes, Contains(HasSubstr("70 missing cells of 'age', 'month' are filled")));
  expect_same_as_new_rows(data, path);
  const RawData fewer = read({.source = "csv", .path = path, .label = "bought", .missing = "drop"});
  EXPECT_EQ(fewer.train.size(), 530u);
  EXPECT_THAT(fewer.notes, Contains(HasSubstr("70 of 600 rows have missing values")));
}

TEST(OwnTables, ThreeTextColumnsAndAnId) {
  std::string text = "uuid\tcolour\tsize\tshop\tprice\tlabel\n";
  for (int i = 0; i < 200; ++i) {
    text += fmt::format("{:08x}-{}\t{}\t{}\t\"The \"\"{}\"\"\tshop\"\t{}\t{}\n", i * 2654435761u, i,
                        i % 2 ? "rot" : "grün", "SML"[i % 3], i % 5, i / 7.0, i % 4);
  }
  const ScratchFolder folder;
  const std::string path = folder.write("shop.tsv", text).string();
  std::string name;
  EXPECT_THAT(read_source({.source = "csv", .path = path}, name).error().message,
              HasSubstr("line 2, column 'uuid': '00000000-0' is not a number, and the column has 200 different values "
                        "(each row has its own: an id?)"));
  const RawData data = read({.source = "csv", .path = path, .drop = {"uuid"}});
  EXPECT_EQ(data.preparation.delimiter, '\t');
  EXPECT_THAT(feature_names(data.preparation),
              ElementsAre("colour=grün", "colour=rot", "size=L", "size=M", "size=S", "shop=The \"0\"\tshop",
                          "shop=The \"1\"\tshop", "shop=The \"2\"\tshop", "shop=The \"3\"\tshop",
                          "shop=The \"4\"\tshop", "price"));
  const float* const row = data.train.floats.data() + 11 * 7;  // rot, M, shop 2, 1
  EXPECT_THAT(std::vector<float>(row, row + 11), ElementsAre(0, 1, 0, 1, 0, 0, 0, 1, 0, 0, 1));
  expect_same_as_new_rows(data, path);
}

TEST(OwnTables, SevenSitesOfTenToFiveThousandRows) {
  const std::uint32_t sizes[] = {10, 25, 80, 300, 900, 2000, 5000};
  Stream stream({.seed = 9, .purpose = Purpose::kTest});
  std::string text = "site|x|y|target\n";
  for (int site = 0; site < 7; ++site) {
    for (std::uint32_t i = 0; i < sizes[site]; ++i) {
      text += fmt::format("site-{}|{}|{}|{}\n", site, stream.normal(), stream.normal(), stream.below(3));
    }
  }
  const ScratchFolder folder;
  const std::string path = folder.write("sites.csv", text).string();
  const auto data = make_federated_data({.source = "csv", .path = path, .label = "target", .client = "site"}, 1);
  ASSERT_TRUE(data) << data.error().message;
  ASSERT_EQ((*data)->clients(), 7u);
  for (std::uint32_t k = 0; k < 7; ++k) {
    EXPECT_EQ((*data)->client_name({k}), fmt::format("site-{}", k));
    EXPECT_EQ((*data)->train_count({k}) + (*data)->test_count({k}), sizes[k]);
  }
  EXPECT_EQ((*data)->class_name(2), "2");
}

TEST(OwnTables, Utf16WithQuotedNewlines) {
  std::string text = "\"note\",\"a\",\"result, final\"\r\n";
  for (int i = 0; i < 40; ++i) {
    text +=
        fmt::format("\"line one\r\nline {}\",\"{}\",\"{}\"\r\n", i % 2 + 2, i * 0.5, i % 2 ? "po\nsitive" : "negative");
  }
  const ScratchFolder folder;
  const std::string path = folder.write("notes.csv", to_utf16(text)).string();
  const RawData data = read({.source = "csv", .path = path, .label = "result, final"});
  EXPECT_EQ(data.preparation.encoding, TextEncoding::kUtf16);
  ASSERT_EQ(data.train.size(), 40u);
  EXPECT_THAT(data.preparation.classes, ElementsAre("negative", "po\nsitive"));
  EXPECT_THAT(data.preparation.columns[0].categories, ElementsAre("line one\r\nline 2", "line one\r\nline 3"));
  EXPECT_EQ(data.train.floats[3 * 13 + 2], 6.5f);
  expect_same_as_new_rows(data, path);
  // Lines are those of an editor: a record of three lines, its label on two.
  const auto rows = prepare_rows(path, data.preparation);
  ASSERT_TRUE(rows);
  EXPECT_THAT(std::vector<std::uint64_t>(rows->lines.begin(), rows->lines.begin() + 4), ElementsAre(2, 4, 7, 9));
}

}  // namespace
}  // namespace muster
