// Many runs' progress against a clock and a terminal that tests hold in their hands.
#include "record/sweep_progress.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace muster {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;

class SweepProgressTest : public testing::Test {
 protected:
  ProgressSink sink(bool terminal, std::uint32_t columns = 200) {
    return {.write = [this](std::string_view text) { written_ += text; },
            .seconds = [this] { return now_; },
            .width = [columns] { return columns; },
            .terminal = terminal};
  }
  std::string taken() { return std::exchange(written_, {}); }

  double now_ = 100;
  std::string written_;
};

TEST_F(SweepProgressTest, TellsRunsShareSpeedAndTimeLeft) {
  SweepProgress progress(2, false, sink(false));
  progress.expect(0, 10, 10);
  for (std::uint32_t round = 1; round <= 4; ++round) progress.round(0, round);
  EXPECT_EQ(taken(), "") << "too early for a line";
  now_ += 10;
  progress.round(0, 5);
  EXPECT_EQ(taken(), "0/2 runs  25 %  0.5 rounds/s  30s left\n") << "the other run counts like this one";
  progress.expect(1, 30, 10);
  now_ += 10;
  progress.round(0, 6);
  EXPECT_EQ(taken(), "0/2 runs  15 %  0.3 rounds/s  1m53s left\n");
}

TEST_F(SweepProgressTest, WhatWasThereBeforeCountsAsDoneButNotForTheSpeed) {
  SweepProgress progress(2, false, sink(false));
  progress.expect(0, 10, 10);
  progress.expect(1, 10, 10);
  progress.done(0, false);
  now_ += 10;
  progress.round(1, 6);  // resumed: the first five are of another day
  EXPECT_EQ(taken(), "1/2 runs  80 %  0.1 rounds/s  40s left\n");
  progress.done(1, true);
  progress.finish();
  EXPECT_EQ(taken(), "2/2 runs  100 %  0.1 rounds/s  10s in all\n");
  progress.finish();
  EXPECT_EQ(taken(), "");
}

TEST_F(SweepProgressTest, LinesGetRarerAsTimeGoesBy) {
  SweepProgress progress(100, false, sink(false));
  for (std::size_t run = 0; run < 100; ++run) progress.expect(run, 1, 100);
  for (std::uint32_t i = 0; i < 10'000; ++i) {
    now_ += 1;
    progress.round(i / 100, i % 100 + 1);
  }
  const std::string all = taken();
  EXPECT_LT(std::count(all.begin(), all.end(), '\n'), 200);
}

TEST_F(SweepProgressTest, ATerminalHasOneLineThatFits) {
  SweepProgress progress(2, false, sink(true, 20));
  progress.expect(0, 10, 10);
  progress.round(0, 1);
  EXPECT_EQ(taken(), "\r0/2 runs  5 %\x1b[K");
  now_ += 0.01;
  progress.round(0, 2);
  EXPECT_EQ(taken(), "") << "not more often than anybody sees";
  now_ += 1;
  progress.round(0, 3);
  const std::string line = taken();
  EXPECT_THAT(line, AllOf(testing::StartsWith("\r0/2 runs"), EndsWith("\x1b[K")));
  EXPECT_EQ(line.size(), 1u + 19u + 3u);
  progress.make_room();
  EXPECT_EQ(taken(), "\r\x1b[K");
}

TEST_F(SweepProgressTest, QuietWritesNothing) {
  {
    SweepProgress progress(1, true, sink(true));
    progress.expect(0, 1, 1);
    progress.round(0, 1);
    progress.done(0, true);
  }
  EXPECT_EQ(taken(), "");
}

}  // namespace
}  // namespace muster
