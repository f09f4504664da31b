// What a client remembers of its sums: also when it is started again, and when sums are begun again.
#include "secure/sum_history.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.h"
#include "scratch_folder.h"
#include "sum_run.h"

namespace muster {
namespace {

SumTerms attempt_of(SumTerms terms, std::uint64_t attempt) {
  terms.attempt = attempt;
  return terms;
}

TEST(SumHistory, ASumIsBegunAgainWithTheSameTermsAndAHigherAttempt) {
  SumHistory history;
  const SumTerms terms = terms_of(5, 3);
  EXPECT_TRUE(history.enter(attempt_of(terms, 4)));
  EXPECT_FALSE(history.enter(attempt_of(terms, 4)));
  EXPECT_FALSE(history.enter(attempt_of(terms, 3)));
  EXPECT_TRUE(history.enter(attempt_of(terms, 7)));
  for (const auto& change : std::vector<std::function<void(SumTerms&)>>{
           [](SumTerms& other) { other.members.pop_back(); }, [](SumTerms& other) { other.model[0] ^= 1; },
           [](SumTerms& other) { other.group = {9}; }, [](SumTerms& other) { other.threshold = 5; },
           [](SumTerms& other) {
             other.names = {"a", "b", "c", "d", "e"};
           }}) {
    SumTerms other = attempt_of(terms, 8);
    change(other);
    EXPECT_FALSE(history.enter(other));
  }
  EXPECT_TRUE(history.enter(attempt_of(terms, 8)));
}

// Otherwise the difference of two sums is what one member sent.
TEST(SumHistory, OneSetOfSurvivorsIsSignedForever) {
  SumHistory history;
  const SumTerms terms = terms_of(5, 3);
  ASSERT_TRUE(history.enter(terms));
  const SurvivorSet first{true, true, true, true, false};
  EXPECT_TRUE(history.sign(terms, first));
  EXPECT_TRUE(history.sign(terms, first));
  const SumTerms again = attempt_of(terms, 1);
  ASSERT_TRUE(history.enter(again));
  EXPECT_THAT(history.sign(again, {true, true, true, true, true}).error().message,
              testing::HasSubstr("shows other survivors of round 1"));
  EXPECT_FALSE(history.sign(again, {true, true, true, false, false}));
  EXPECT_TRUE(history.sign(again, first));
}

TEST(SumHistory, OutlivesTheProcess) {
  const ScratchFolder folder;
  const std::filesystem::path file = folder.path() / "3" / "secure-sums";
  const SumTerms terms = terms_of(5, 3);
  const SurvivorSet all(5, true);
  {
    auto history = SumHistory::open(file);
    ASSERT_TRUE(history.ok());
    EXPECT_FALSE(std::filesystem::exists(file));
    ASSERT_TRUE(history->enter(terms));
    ASSERT_TRUE(history->sign(terms, all));
  }
  auto history = SumHistory::open(file);
  ASSERT_TRUE(history.ok()) << history.error().message;
  EXPECT_FALSE(history->enter(terms));
  ASSERT_TRUE(history->enter(attempt_of(terms, 1)));
  EXPECT_FALSE(history->sign(attempt_of(terms, 1), {true, true, true, true, false}));
  EXPECT_TRUE(history->sign(attempt_of(terms, 1), all));
}

TEST(SumHistory, ALineThatWasCutShortWasNeverAnswered) {
  const ScratchFolder folder;
  const std::filesystem::path file = folder.path() / "secure-sums";
  SumTerms terms = terms_of(5, 3);
  ASSERT_TRUE(SumHistory::open(file)->enter(terms));
  const auto whole = *read_file(file);
  const std::string line(whole.begin(), whole.end());
  ASSERT_TRUE(write_file(file, line + line.substr(0, 70)));
  auto history = SumHistory::open(file);
  ASSERT_TRUE(history.ok()) << history.error().message;
  EXPECT_FALSE(history->enter(terms));
  terms.round = 2;
  ASSERT_TRUE(history->enter(terms));
  EXPECT_FALSE(SumHistory::open(file)->enter(terms));
  // But not in the middle.
  for (const std::string& damaged : {std::string("x\n") + line, line + "\n" + line, line.substr(1), line + " \n",
                                     "0" + line, line.substr(0, line.size() - 1) + " 1\n"}) {
    ASSERT_TRUE(write_file(file, damaged));
    EXPECT_FALSE(SumHistory::open(file).ok()) << damaged;
  }
}

// Through the whole protocol: the second attempt has lost a member that is in the first.
TEST(SumHistory, ASecondAttemptOpensTheSameSumOrNone) {
  const SumTerms terms = terms_of(7, 3);
  for (const bool same : {true, false}) {
    SumRun first(terms);
    ASSERT_TRUE(first.run({{22, SumPhase::kInput}}));
    SumRun second(attempt_of(terms, 1), 2);
    second.histories_ = first.histories_;
    const Status status = second.run(same ? std::map<std::uint32_t, SumPhase>{{22, SumPhase::kKeys}}
                                          : std::map<std::uint32_t, SumPhase>{});
    EXPECT_EQ(status.ok(), same);
    EXPECT_EQ(second.refused_.size(), same ? 0u : 6u);
    if (same) {
      EXPECT_EQ(second.server_.sum(), first.server_.sum());
    }
  }
}

}  // namespace
}  // namespace muster
