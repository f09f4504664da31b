// Clients with tables of their own: what they agree on is what a table of all their rows is read as, and who does not
// fit is told what differs.
#include "data/agreement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <sstream>

#include "data/error_text.h"
#include "scratch_folder.h"

namespace muster {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// What training would see of a view.
std::vector<float> seen(const SampleView& view) {
  std::vector<std::uint32_t> positions(view.size());
  for (std::uint32_t i = 0; i < positions.size(); ++i) positions[i] = i;
  std::vector<float> values(view.size() * (view.samples ? view.samples->shape.size() : 0));
  std::vector<std::int32_t> labels(view.size());
  if (!positions.empty()) gather(view, positions, {}, nullptr, values.data(), labels.data());
  values.insert(values.end(), labels.begin(), labels.end());
  return values;
}

class AgreementTest : public testing::Test {
 protected:
  DataOptions table(const std::string& text) {
    DataOptions options = options_;
    options.source = "csv";
    options.path = folder_.write(std::to_string(files_++) + ".csv", text).string();
    return options;
  }
  DataSheet sheet(const std::string& text) {
    const DataOptions options = table(text);
    const auto told = read_data_sheet(options);
    EXPECT_TRUE(told.ok()) << error_of(told);
    const Status sound = check_sheet(*told, options);
    EXPECT_TRUE(sound.ok()) << sound.error().message;
    return *told;
  }
  Preparation agreed(const std::vector<std::string>& tables) {
    std::vector<SheetOf> sheets;
    for (const std::string& text : tables) sheets.push_back({fmt::format("c{}", sheets.size()), sheet(text)});
    DataOptions options = options_;
    options.source = "csv";
    const auto made = agree(sheets, options);
    EXPECT_TRUE(made.ok()) << error_of(made);
    EXPECT_TRUE(made->misfits.empty());
    return made->preparation;
  }

  DataOptions options_;
  ScratchFolder folder_;
  int files_ = 0;
};

// Rows of three clients, of which one has few, with missing cells and a category that only one has.
const char* const kRows[] = {
    "36.5,Rome,well\n37.25,Ulm,ill\n,Ulm,ill\n36.1,Rome,well\n38.5,Ulm,ill\n", "36.75,,watched\n39.5,Graz,ill\n",
    "35.5,Rome,well\n36,Rome,well\n36.2,Rome,well\n40.1,Ulm,ill\n37,Graz,watched\n38,Rome,ill\n"};

std::vector<std::string> tables_of_clients() {
  std::vector<std::string> tables;
  for (const char* const rows : kRows) tables.push_back(std::string("heat,city,label\n") + rows);
  return tables;
}

std::string table_of_all() {
  std::string text = "client,heat,city,label\n";
  for (int k = 0; k < 3; ++k) {
    std::istringstream lines(kRows[k]);
    for (std::string line; std::getline(lines, line);) text += fmt::format("c{},{}\n", k, line);
  }
  return text;
}

TEST_F(AgreementTest, IsWhatOneTableOfAllRowsIsReadAs) {
  options_.missing = "mean";
  const auto whole = make_federated_data(table(table_of_all()), 7);
  ASSERT_TRUE(whole.ok()) << error_of(whole);
  Preparation wanted = (*whole)->preparation();
  wanted.client.clear();
  EXPECT_EQ(to_json(agreed(tables_of_clients())), to_json(wanted));
}

TEST_F(AgreementTest, AClientsOwnSamplesAreThoseItHasInATableOfAll) {
  for (const char* const fraction : {"0.4", ""}) {
    options_.missing = "mean";
    if (*fraction) options_.test_fraction = 0.4;
    options_.validation_fraction = 0.3;
    const auto whole = make_federated_data(table(table_of_all()), 7);
    ASSERT_TRUE(whole.ok()) << error_of(whole);
    const Preparation preparation = agreed(tables_of_clients());
    for (std::uint32_t k = 0; k < 3; ++k) {
      const std::string text = tables_of_clients()[k];
      const DataSheet told = sheet(text);
      const auto own = make_own_data(table(text), preparation, {.client = {k}, .clients = 3, .name = "c"}, 7);
      ASSERT_TRUE(own.ok()) << error_of(own);
      const SampleCounts counts = (*whole)->counts({k});
      const SampleCounts by_sheet = counts_of(told.rows, told.test_rows, preparation, options_);
      EXPECT_EQ(by_sheet.train, counts.train);
      EXPECT_EQ(by_sheet.test, counts.test);
      EXPECT_EQ(by_sheet.validation, counts.validation);
      SampleBuffer one;
      SampleBuffer other;
      EXPECT_EQ(seen((*own)->train({k}, one)), seen((*whole)->train({k}, other)));
      EXPECT_EQ(seen((*own)->test({k}, one)), seen((*whole)->test({k}, other)));
      EXPECT_EQ(seen((*own)->validation({k}, one)), seen((*whole)->validation({k}, other)));
      EXPECT_EQ((*own)->label_counts({k}), (*whole)->label_counts({k}));
      EXPECT_EQ((*own)->train_count({(k + 1) % 3}), 0u) << "of the others nothing is here";
    }
  }
}

TEST_F(AgreementTest, ColumnsMayComeInAnyOrder) {
  const Preparation one = agreed({"a,b,label\n1,2,x\n3,4,y\n", "a,b,label\n5,6,x\n"});
  const Preparation other = agreed({"a,b,label\n1,2,x\n3,4,y\n", "label,b,a\nx,6,5\n"});
  EXPECT_EQ(one, other);
}

TEST_F(AgreementTest, LabelsAreAllThatAnyClientHas) {
  EXPECT_THAT(agreed({"a,label\n1,b\n", "a,label\n1,c\n", "a,label\n1,a\n"}).classes, ElementsAre("a", "b", "c"));
  EXPECT_THAT(agreed({"a,label\n1,10\n", "a,label\n1,9\n", "a,label\n1,2.0\n"}).classes, ElementsAre("2", "9", "10"));
}

TEST_F(AgreementTest, WhoIsUnlikeMostIsToldWhatDiffers) {
  const std::string usual = "age,city,label\n1,Rome,x\n2,Ulm,y\n";
  const auto misfit = [&](const std::string& odd) -> std::string {
    const std::vector<SheetOf> sheets{{"a", sheet(odd)}, {"b", sheet(usual)}, {"c", sheet(usual)}};
    DataOptions options = options_;
    options.source = "csv";
    const auto made = agree(sheets, options);
    if (!made) return made.error().message;
    if (made->misfits != std::vector<std::size_t>{0}) return "it fits";
    return error_of(check_fits(sheets[0].sheet, made->preparation));
  };
  EXPECT_EQ(misfit(usual), "it fits");
  EXPECT_EQ(misfit("Age,city,label\n1,Rome,x\n"),
            "it has a column 'Age', which the other clients do not have; data.drop leaves it out");
  EXPECT_EQ(misfit("city,label\nRome,x\n"), "it has no column 'age', which the other clients have");
  EXPECT_EQ(misfit("age,city,label\nold,Rome,x\n"),
            "its column 'age' holds text or categories, that of the other clients numbers");
  EXPECT_EQ(misfit("age,city,label\n1,Rome,7\n"),
            "its labels are numbers ('7'), those of the other clients are words ('x')");
}

TEST_F(AgreementTest, WhoComesLaterFitsOrIsToldWhatDiffers) {
  const Preparation preparation = agreed({"age,city,label\n1,Rome,x\n2,Ulm,y\n"});
  EXPECT_TRUE(check_fits(sheet("city,age,label\nUlm,7,y\n"), preparation).ok());
  EXPECT_THAT(error_of(check_fits(sheet("city,age,label\nUlm,7,z\n"), preparation)),
              HasSubstr("it has the label 'z', which no client had when the run began; there are 2 classes"));
  EXPECT_THAT(error_of(check_fits(sheet("city,age,label\nGraz,7,y\n"), preparation)),
              HasSubstr("its column 'city' has the value 'Graz', which no client had when the run began"));
}

TEST_F(AgreementTest, AFileOfSeveralClientsIsRefused) {
  EXPECT_THAT(error_of(read_data_sheet(table(table_of_all()))), HasSubstr("missing value"));
  options_.missing = "drop";
  EXPECT_THAT(error_of(read_data_sheet(table(table_of_all()))),
              HasSubstr("column 'client' names 3 clients, but a client's own file is of one"));
}

TEST_F(AgreementTest, SheetsThatNoFileGivesAreRefused) {
  const DataSheet sound = sheet("age,city,label\n1,Rome,x\n2,Ulm,y\n");
  DataOptions options;
  options.source = "csv";
  const auto refused = [&](auto change) {
    DataSheet hostile = sound;
    change(hostile);
    return error_of(check_sheet(hostile, options));
  };
  EXPECT_EQ(refused([](DataSheet&) {}), "no error");
  const double none = std::nan("");
  EXPECT_THAT(refused([](DataSheet& s) { s.rows = 0; }), HasSubstr("no training rows"));
  EXPECT_THAT(refused([](DataSheet& s) { s.labels.clear(); }), HasSubstr("no labels"));
  EXPECT_THAT(refused([](DataSheet& s) { s.labels = {"x", "x"}; }), HasSubstr("label 'x' comes twice"));
  EXPECT_THAT(refused([](DataSheet& s) { s.labels = {std::string(5000, 'x')}; }), HasSubstr("has 5000 bytes"));
  EXPECT_THAT(refused([](DataSheet& s) {
                for (int i = 0; i < 70000; ++i) s.labels.push_back(std::to_string(i));
              }),
              HasSubstr("more than 65536 labels and categories"));
  EXPECT_THAT(refused([](DataSheet& s) { s.columns.clear(); }), HasSubstr("0 columns"));
  EXPECT_THAT(refused([](DataSheet& s) { s.columns[1].name = "age"; }), HasSubstr("column 'age' comes twice"));
  EXPECT_THAT(refused([](DataSheet& s) { s.columns[0].name = ""; }), HasSubstr("without a name"));
  EXPECT_THAT(refused([](DataSheet& s) { s.columns[1].categories.clear(); }), HasSubstr("0 categories"));
  EXPECT_THAT(refused([](DataSheet& s) { s.columns[0].kind = PreparedColumn::Kind::kText; }), HasSubstr("of texts"));
  EXPECT_THAT(refused([](DataSheet& s) { s.columns[1].counts = {1, 1}; }), HasSubstr("2 counts"));
  EXPECT_THAT(refused([](DataSheet& s) { s.sums.clear(); }), HasSubstr("0 sums, want 1"));
  EXPECT_THAT(refused([](DataSheet& s) { s.sums.resize(2); }), HasSubstr("2 sums, want 1"));
  EXPECT_THAT(refused([](DataSheet& s) { s.sums[0].count = 3; }), HasSubstr("sums of 3 values"));
  EXPECT_THAT(refused([&](DataSheet& s) { s.sums[0].sum = none; }), HasSubstr("nan"));
  EXPECT_THAT(refused([](DataSheet& s) { s.sums[0].squares = -1; }), HasSubstr("-1"));
  EXPECT_THAT(refused([&](DataSheet& s) { s.sums[0].squares = 1 / 0.0; }), HasSubstr("inf"));
  options.source = "npz";
  EXPECT_THAT(refused([](DataSheet& s) {
                s.columns.clear();
                s.sums.clear();
                s.shape = {1u << 20, 1u << 20, 1u << 20};
              }),
              HasSubstr("samples of 1048576 x 1048576 x 1048576"));
}

TEST_F(AgreementTest, EverythingThatASheetTellsIsInItsFingerprint) {
  const DataSheet told = sheet("age,city,label\n1,Rome,x\n2,Ulm,y\n");
  EXPECT_EQ(fingerprint(told), fingerprint(DataSheet(told)));
  EXPECT_NE(fingerprint(told), fingerprint(sheet("age,city,label\n1,Rome,x\n3,Ulm,y\n")));
  EXPECT_NE(fingerprint(told), fingerprint(sheet("age,city,label\n1,Rome,x\n2,Ulm,z\n")));
  EXPECT_NE(fingerprint(told), fingerprint(sheet("age,city,label\n1,Rome,x\n2,Bonn,y\n")));
}

TEST_F(AgreementTest, WhatCannotBeKeptIsRefused) {
  DataOptions options;
  options.source = "csv";
  EXPECT_THAT(error_of(check_held_by_clients(options)), HasSubstr("data.clients: missing"));
  options.clients = 4;
  EXPECT_TRUE(check_held_by_clients(options).ok());
  options.partition = "iid";
  EXPECT_THAT(error_of(check_held_by_clients(options)), HasSubstr("data.partition: \"iid\""));
  options.partition = "natural";
  options.exemplars = 2;
  EXPECT_THAT(error_of(check_held_by_clients(options)), HasSubstr("data.exemplars: 2"));
}

}  // namespace
}  // namespace muster
