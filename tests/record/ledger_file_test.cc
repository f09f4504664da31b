#include "record/ledger_file.h"

#include <gtest/gtest.h>

#include <fstream>

#include "scratch_folder.h"

namespace muster {
namespace {

class LedgerFileTest : public testing::Test {
 protected:
  [[nodiscard]] std::string content() const {
    std::ifstream in(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  // Opens the file as it is and adds a line.
  void add(const std::string& line) {
    auto file = LedgerFile::open(path_);
    ASSERT_TRUE(file.ok()) << file.error().message;
    file->add(line);
    EXPECT_TRUE(file->sync().ok());
  }

  ScratchFolder scratch_;
  const std::filesystem::path path_ = scratch_.path() / "ledger.jsonl";
};

TEST_F(LedgerFileTest, LinesWaitUntilTheyArePutDown) {
  auto file = LedgerFile::open(path_);
  ASSERT_TRUE(file.ok());
  file->add("one");
  file->add("two");
  EXPECT_EQ(content(), "");
  EXPECT_TRUE(file->put_down().ok());
  EXPECT_EQ(content(), "one\ntwo\n");
  EXPECT_TRUE(file->put_down().ok());
  EXPECT_EQ(content(), "one\ntwo\n");
}

TEST_F(LedgerFileTest, WhatIsThereStaysButForALineThatWasCutShort) {
  const std::string longer(10'000, 'x');
  const std::vector<std::pair<std::string, std::string>> cases{{"", ""},
                                                               {"one\n", "one\n"},
                                                               {"one\ntw", "one\n"},
                                                               {"tw", ""},
                                                               {"one\n" + longer, "one\n"},
                                                               {longer, ""},
                                                               {longer + "\n", longer + "\n"}};
  for (const auto& [before, kept] : cases) {
    std::ofstream(path_, std::ios::binary) << before;
    add("next");
    EXPECT_EQ(content(), kept + "next\n") << before.size();
  }
}

TEST_F(LedgerFileTest, AFolderInItsPlaceIsAnError) {
  std::filesystem::create_directory(path_);
  const auto file = LedgerFile::open(path_);
  ASSERT_FALSE(file.ok());
  EXPECT_NE(file.error().message.find("ledger.jsonl: cannot write"), std::string::npos) << file.error().message;
}

}  // namespace
}  // namespace muster
