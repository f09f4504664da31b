#include "record/progress.h"

#include <algorithm>

namespace muster {
namespace {

using ::testing::ElementsAre;

// A terminal or a log file on paper, and a clock that the test moves.
struct Paper {
  std::vector<std::string> writes;
  double now = 100.0;
  std::uint32_t columns = 80;

  ProgressSink sink(bool terminal) {
    return {.write = [this](std::string_view text) { writes.emplace_back(text); },
            .seconds = [this] { return now; },
            .width = [this] { return columns; },
            .terminal = terminal};
  }
};

TEST(Progress, LinesComeAtTenthsOfAFastRun) {
  Paper paper;
  Progress progress(false, paper.sink(false));
  progress.begin_rounds(1000, 1);
  for (std::uint32_t round = 1; round <= 1000; ++round) {
    paper.now += 0.001;
    progress.round(round, "accuracy 0.5");
  }
  progress.finish();
  ASSERT_EQ(paper.writes.size(), 10u);
  EXPECT_EQ(paper.writes[0], "round 100/1000  accuracy 0.5  1s left\n");
  EXPECT_EQ(paper.writes[9], "round 1000/1000  accuracy 0.5  1s in all\n");
}

TEST(Progress, ARemarkStandsBeforeTheTimeAsItIsThen) {
  Paper paper;
  int here = 3;
  ProgressSink sink = paper.sink(false);
  sink.remark = [&] { return here > 0 ? fmt::format("{} of 3 clients here", here) : std::string(); };
  Progress progress(false, std::move(sink));
  progress.begin_rounds(3, 1);
  paper.now += 3;
  progress.phase("training", 1, 4, "groups");
  here = 2;
  paper.now += 3;
  progress.round(1, "accuracy 0.5");
  here = 0;
  paper.now += 3;
  progress.round(2, "accuracy 0.6");
  EXPECT_THAT(paper.writes, ElementsAre("round 1/3  training 1/4 groups  3 of 3 clients here  0s left\n",
                                        "round 1/3  accuracy 0.5  2 of 3 clients here  12s left\n",
                                        "round 2/3  accuracy 0.6  5s left\n"));
}

TEST(Progress, LinesComeEveryTwoSecondsOfASlowRunThenLessOften) {
  Paper paper;
  std::size_t in_first_minute = 0;
  Progress progress(false, paper.sink(false));
  progress.begin_rounds(1'000'000, 1);
  for (std::uint32_t round = 1; round <= 36'000; ++round) {
    paper.now += 1.0;
    progress.round(round, "");
    if (round == 60) in_first_minute = paper.writes.size();
  }
  EXPECT_EQ(paper.writes[0], "round 2/1000000  277h46m left\n");
  EXPECT_GE(in_first_minute, 20u);
  EXPECT_LE(in_first_minute, 30u);
  EXPECT_LT(paper.writes.size(), 200u) << "ten hours must not fill a log";
}

TEST(Progress, TheLastRoundIsShownEvenIfTheRunStopsEarly) {
  Paper paper;
  {
    Progress progress(false, paper.sink(false));
    progress.begin_rounds(1000, 1);
    progress.round(1, "first");
    progress.round(2, "target reached");
  }
  EXPECT_THAT(paper.writes, ElementsAre("round 2/1000  target reached  0s left\n"));
}

TEST(Progress, TheBarIsRedrawnAtMostTenTimesASecond) {
  Paper paper;
  Progress progress(false, paper.sink(true));
  progress.begin_rounds(10'000, 1);
  for (std::uint32_t round = 1; round <= 10'000; ++round) {
    paper.now += 0.001;
    progress.round(round, "loss 0.1");
  }
  progress.finish();
  // Ten seconds: the first draw, 100 more, the line end.
  EXPECT_LE(paper.writes.size(), 103u);
  EXPECT_GE(paper.writes.size(), 90u);
  EXPECT_EQ(paper.writes[0], "\r[                        ] round 1/10000  loss 0.1  10s left\x1b[K");
  EXPECT_EQ(paper.writes[paper.writes.size() - 2],
            "\r[========================] round 10000/10000  loss 0.1  10s in all\x1b[K");
  EXPECT_EQ(paper.writes.back(), "\n");
}

TEST(Progress, TheBarFitsTheTerminal) {
  for (const std::uint32_t columns : {0u, 1u, 2u, 10u, 30u, 60u, 80u, 200u}) {
    Paper paper;
    paper.columns = columns;
    Progress progress(false, paper.sink(true));
    progress.begin_rounds(100, 1);
    progress.round(50, "accuracy 0.8812 loss 0.345");
    ASSERT_EQ(paper.writes.size(), 1u);
    const std::size_t shown = paper.writes[0].size() - std::string("\r\x1b[K").size();
    EXPECT_LE(shown, std::max(columns, 2u) - 1) << columns;
    EXPECT_EQ(paper.writes[0].find("round 50/100") != std::string::npos, columns >= 30) << columns;
    EXPECT_EQ(paper.writes[0].find("[============            ]") != std::string::npos, columns >= 80) << columns;
  }
}

TEST(Progress, AResumedRunJudgesTheTimeByItsOwnRounds) {
  Paper paper;
  Progress progress(false, paper.sink(false));
  progress.begin_rounds(100, 91);
  paper.now += 3.0;
  progress.round(91, "");
  ASSERT_EQ(paper.writes.size(), 1u);
  EXPECT_EQ(paper.writes[0], "round 91/100  27s left\n");
}

TEST(Progress, EveryPhaseIsShownWithTheTimeItTakes) {
  Paper paper;
  Progress progress(false, paper.sink(false));
  progress.phase("reading data");
  EXPECT_THAT(paper.writes, ElementsAre("reading data\n")) << "at once: nobody knows how long it takes";
  paper.now += 1;
  progress.begin_rounds(10, 1);
  progress.phase("grouping");
  for (std::size_t done = 0; done < 10; ++done) {
    progress.phase("profiles", done, 10, "clients");
    paper.now += 2;
  }
  progress.phase("grouping");
  progress.begin_training();
  progress.phase("training", 0, 2, "groups");
  paper.now += 3;
  progress.phase("training", 1, 2, "groups");
  paper.now += 3;
  progress.round(1, "");
  ASSERT_GE(paper.writes.size(), 5u);
  EXPECT_EQ(paper.writes[1], "round 1/10  profiles 1/10 clients  18s left\n");
  EXPECT_EQ(paper.writes[2], "round 1/10  profiles 2/10 clients  16s left\n");
  EXPECT_EQ(paper.writes[paper.writes.size() - 2], "round 1/10  training 1/2 groups  3s left\n");
  EXPECT_EQ(paper.writes.back(), "round 1/10  54s left\n") << "profiles are made once: they do not count";
  for (std::uint32_t round = 2; round <= 10; ++round) progress.round(round, "");
  EXPECT_EQ(paper.writes.back(), "round 10/10  27s in all\n") << "and here they do";
}

TEST(Progress, FastPhasesLeaveNoLines) {
  Paper paper;
  Progress progress(false, paper.sink(false));
  progress.phase("reading data");
  progress.begin_rounds(1000, 1);
  for (std::uint32_t round = 1; round <= 1000; ++round) {
    progress.begin_round(round);
    progress.phase("grouping");
    progress.phase("profiles", 3, 9, "clients");
    progress.begin_training();
    progress.phase("training", 1, 2, "groups");
    paper.now += 0.001;
    progress.round(round, "");
  }
  EXPECT_EQ(paper.writes.size(), 11u);
}

TEST(Progress, ABarEndsWithTheLastRoundWhateverCameAfter) {
  Paper paper;
  Progress progress(false, paper.sink(true));
  progress.begin_rounds(1, 1);
  paper.now += 1;
  progress.round(1, "loss 0.1");
  paper.now += 1;
  progress.phase("evaluating");
  progress.finish();
  ASSERT_GE(paper.writes.size(), 2u);
  EXPECT_EQ(paper.writes[paper.writes.size() - 2], "\r[========================] round 1/1  loss 0.1  2s in all\x1b[K");
}

TEST(Progress, MakesRoomForANoteOnATerminal) {
  Paper paper;
  Progress progress(false, paper.sink(true));
  progress.make_room();
  EXPECT_TRUE(paper.writes.empty());
  progress.phase("reading data");
  progress.make_room();
  EXPECT_THAT(paper.writes, ElementsAre("\rreading data\x1b[K", "\r\x1b[K"));
  progress.finish();
  EXPECT_EQ(paper.writes.size(), 2u) << "there is no bar to leave";
}

TEST(Progress, QuietWritesNothing) {
  for (const bool terminal : {true, false}) {
    Paper paper;
    {
      Progress progress(true, paper.sink(terminal));
      progress.begin_rounds(10, 1);
      for (std::uint32_t round = 1; round <= 10; ++round) {
        paper.now += 5;
        progress.round(round, "x");
      }
      progress.finish();
    }
    EXPECT_TRUE(paper.writes.empty());
  }
}

TEST(Progress, NoRoundsAtAllIsFine) {
  Paper paper;
  {
    Progress progress(false, paper.sink(true));
    progress.begin_rounds(0, 1);
  }
  EXPECT_TRUE(paper.writes.empty());
}

}  // namespace
}  // namespace muster
