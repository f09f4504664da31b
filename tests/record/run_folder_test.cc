#include "record/run_folder.h"

#include "scratch_folder.h"

namespace muster {
namespace {

using ::testing::HasSubstr;

// A run's folder with these lines in both files.
class Lines : public testing::Test {
 protected:
  void SetUp() override {
    auto made = RunFolder::create(folder_ / "runs", "fed avg", 7);
    ASSERT_TRUE(made.ok()) << made.error().message;
    run_ = std::make_unique<RunFolder>(std::move(made).value());
    spit(run_->path() / "recipe.toml", "");
  }
  void put(const std::string& rounds, const std::string& groups) {
    spit(run_->path() / "rounds.jsonl", rounds);
    spit(run_->path() / "groups.jsonl", groups);
  }
  std::string rounds() { return slurp(run_->path() / "rounds.jsonl"); }
  std::string groups() { return slurp(run_->path() / "groups.jsonl"); }

  ScratchFolder folder_;
  std::unique_ptr<RunFolder> run_;
};

TEST_F(Lines, OfLaterRoundsAreForgottenInBothFiles) {
  put("{\"round\":1}\n{\"round\":2,\"loss\":0.5}\n{\"round\":3}\n",
      "{\"round\":0,\"groups\":[[1]]}\n{\"round\":2}\n{\"round\":3}\n{\"round\":4}\n");
  ASSERT_TRUE(run_->forget_rounds_after(2).ok());
  EXPECT_EQ(rounds(), "{\"round\":1}\n{\"round\":2,\"loss\":0.5}\n");
  EXPECT_EQ(groups(), "{\"round\":0,\"groups\":[[1]]}\n{\"round\":2}\n");
  ASSERT_TRUE(run_->forget_rounds_after(0).ok());
  EXPECT_EQ(rounds(), "");
  EXPECT_EQ(groups(), "{\"round\":0,\"groups\":[[1]]}\n");
  // Beyond the last round nothing changes, also at the largest one.
  ASSERT_TRUE(run_->forget_rounds_after(0xffffffffu).ok());
  EXPECT_EQ(groups(), "{\"round\":0,\"groups\":[[1]]}\n");
}

TEST_F(Lines, ACutLastLineGoesAndMissingFilesAreEmpty) {
  spit(run_->path() / "rounds.jsonl", "{\"round\":1}\n{\"round\":2");
  ASSERT_TRUE(run_->forget_rounds_after(5).ok());
  EXPECT_EQ(rounds(), "{\"round\":1}\n");
  EXPECT_EQ(groups(), "");
}

TEST_F(Lines, ThatAreNoRecordsAreAnErrorWithTheirPlace) {
  const std::string deep(100000, '[');
  for (const std::string& bad :
       {std::string("[1]"), std::string("3"), std::string("{}"), std::string(""), std::string("{\"round\":\"2\"}"),
        std::string("{\"round\":-1}"), std::string("{\"round\":1.5}"), std::string("{\"round\":null}"),
        std::string("{\"round\":1,\"name\":\"\xff\"}"), std::string("{\"round\":1e99}"), deep}) {
    put("{\"round\":2}\n", "{\"round\":1}\n" + bad + "\n{\"round\":2}\n");
    const Status status = run_->forget_rounds_after(1);
    ASSERT_FALSE(status.ok()) << bad.substr(0, 40);
    EXPECT_THAT(status.error().message, HasSubstr("groups.jsonl:2: not a record of a round")) << bad.substr(0, 40);
    EXPECT_THAT(groups(), HasSubstr("{\"round\":2}")) << "the file was changed";
    EXPECT_EQ(rounds(), "{\"round\":2}\n") << "the other file was changed";
  }
}

TEST_F(Lines, AreAppendedAndSurviveWhatTheySay) {
  RoundRecord record;
  record.round = 1;
  ASSERT_TRUE(run_->append_round(record).ok());
  record.round = 2;
  ASSERT_TRUE(run_->append_round(record).ok());
  ASSERT_TRUE(run_->append_grouping("{\"round\":2}").ok());
  ASSERT_TRUE(run_->forget_rounds_after(1).ok());
  EXPECT_THAT(rounds(), HasSubstr("{\"round\":1,"));
  EXPECT_EQ(std::ranges::count(rounds(), '\n'), 1);
  EXPECT_EQ(groups(), "");
}

TEST_F(Lines, BelongToARunThatIsFoundByPathAndById) {
  EXPECT_THAT(run_->id(), testing::StartsWith("fed-avg-s7-"));
  EXPECT_EQ(run_->checkpoints(), run_->path() / "checkpoint");
  for (const std::string& run : {run_->path().string(), run_->path().string() + "/", run_->id()}) {
    const auto opened = RunFolder::open(folder_ / "runs", run);
    ASSERT_TRUE(opened.ok()) << opened.error().message;
    EXPECT_EQ(opened->id(), run_->id());
  }
  const auto absent = RunFolder::open(folder_ / "runs", "absent");
  ASSERT_FALSE(absent.ok());
  EXPECT_EQ(absent.error().code, ErrorCode::kUsage);
  // A second run of the same second gets another name.
  const auto again = RunFolder::create(folder_ / "runs", "fed avg", 7);
  ASSERT_TRUE(again.ok());
  EXPECT_NE(again->path(), run_->path());
}

TEST_F(Lines, OfClientsHaveAHeader) {
  ASSERT_TRUE(
      run_->write_clients(2, [](std::uint32_t k, std::string& text) { text += std::to_string(k) + ",,1"; }).ok());
  EXPECT_EQ(slurp(run_->path() / "clients.csv"),
            "client,name,samples,group,trained,dropped,accuracy,test_samples,filtered,malicious\n0,,1\n1,,1\n");
}

TEST_F(Lines, OfManyClientsAreAllThere) {
  const auto line = [](std::uint32_t k) { return std::to_string(k) + ",,77,5,1,0,,8"; };
  ASSERT_TRUE(run_->write_clients(60'000, [&](std::uint32_t k, std::string& text) { text += line(k); }).ok());
  std::istringstream table(slurp(run_->path() / "clients.csv"));
  std::string text;
  std::getline(table, text);
  for (std::uint32_t k = 0; k < 60'000; ++k) {
    ASSERT_TRUE(std::getline(table, text));
    ASSERT_EQ(text, line(k));
  }
  EXPECT_FALSE(std::getline(table, text));
}

TEST_F(Lines, AReplacedRoundIsTheLast) {
  for (const std::uint32_t round : {1u, 2u, 3u}) ASSERT_TRUE(run_->append_round({.round = round}).ok());
  ASSERT_TRUE(run_->replace_round(2, R"({"round":2,"accuracy":1})").ok());
  EXPECT_EQ(std::ranges::count(rounds(), '\n'), 2);
  EXPECT_THAT(rounds(), testing::StartsWith(R"({"round":1,)"));
  EXPECT_THAT(rounds(), testing::EndsWith("\n{\"round\":2,\"accuracy\":1}\n"));
}

}  // namespace
}  // namespace muster
