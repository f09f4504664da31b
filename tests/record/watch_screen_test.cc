#include "record/watch_screen.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace muster {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

RoundRecord record_of(std::uint32_t round, double accuracy, std::uint32_t groups = 0) {
  RoundRecord record{.round = round, .accuracy = accuracy};
  record.groups_formed = groups;
  record.groups = groups / 2;
  record.group_size_max = groups > 0 ? 5 : 0;
  return record;
}

// Letters that a terminal shows, without its commands.
std::size_t shown_columns(const std::string& line) {
  std::size_t columns = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '\x1b') {
      while (line[i] != 'm') ++i;
    } else if ((static_cast<unsigned char>(line[i]) & 0xc0) != 0x80) {
      ++columns;
    }
  }
  return columns;
}

TEST(WatchLines, DrawsACurveWithItsAxes) {
  WatchedRounds rounds;
  for (std::uint32_t round = 1; round <= 9; ++round) rounds.add(record_of(round, 0.1 * round));
  const auto lines = watch_lines(rounds, 26, 3, {});
  // 17 columns for nine rounds on three lines.
  ASSERT_THAT(lines, SizeIs(4));
  EXPECT_EQ(lines[0], " 90.0 %             *****");
  EXPECT_EQ(lines[1], " 50.0 %     ********");
  EXPECT_EQ(lines[2].substr(0, 12), " 10.0 % ****");
  EXPECT_THAT(lines[3], HasSubstr("round 1"));
  EXPECT_EQ(lines[3].back(), '9');
}

TEST(WatchLines, FitsAnyTerminal) {
  WatchedRounds rounds;
  for (std::uint32_t round = 1; round <= 10'000; ++round) rounds.add(record_of(round, round % 7 * 0.1, round % 40));
  EXPECT_LE(rounds.accuracy.size(), 5000u);
  for (const bool unicode : {false, true}) {
    for (const bool colour : {false, true}) {
      for (std::uint32_t columns = 0; columns < 200; ++columns) {
        for (const std::string& line :
             watch_lines(rounds, columns, columns % 12, {.colour = colour, .unicode = unicode})) {
          EXPECT_LT(shown_columns(line), columns) << line;
          EXPECT_EQ(line.find('\x1b') != std::string::npos && !colour, false);
        }
      }
    }
  }
  EXPECT_THAT(watch_lines(rounds, 80, 10, {}), SizeIs(12));
  EXPECT_THAT(watch_lines({}, 80, 10, {}), IsEmpty());
}

TEST(WatchStyle, GoesByTheEnvironment) {
  const auto style = [](std::map<std::string, const char*> environment) {
    return watch_style(
        [environment](const char* name) { return environment.contains(name) ? environment.at(name) : nullptr; });
  };
  EXPECT_TRUE(style({}).colour);
  EXPECT_FALSE(style({}).unicode);
  EXPECT_FALSE(style({{"NO_COLOR", "1"}}).colour);
  EXPECT_TRUE(style({{"NO_COLOR", ""}}).colour);
  EXPECT_TRUE(style({{"LANG", "de_DE.UTF-8"}}).unicode);
  EXPECT_TRUE(style({{"LANG", "C"}, {"LC_ALL", "C.utf8"}}).unicode);
  EXPECT_FALSE(style({{"LANG", "de_DE.UTF-8"}, {"LC_ALL", "C"}}).unicode);
}

struct FakeScreen {
  std::string written;
  std::uint32_t columns = 40;
  std::atomic<bool> interrupt = false;
  bool terminal = true;

  ProgressSink sink() {
    return {.write = [this](std::string_view text) { written += text; },
            .seconds = [] { return 0.0; },
            .width = [this] { return columns; },
            .terminal = terminal};
  }
  std::string taken() { return std::exchange(written, ""); }
};

TEST(WatchScreen, DrawsOverItselfOnly) {
  FakeScreen fake;
  WatchScreen screen(
      fake.sink(), [] { return 24u; }, {}, &fake.interrupt);
  const ProgressSink below = screen.sink();
  below.write("\rbar 1\x1b[K");
  fake.taken();
  screen.record(record_of(1, 0.5));
  EXPECT_THAT(fake.taken(), Not(HasSubstr("A"))) << "nothing was drawn before: the cursor stays";
  screen.record(record_of(2, 0.6));
  // Ten lines of the curve and one below it.
  const std::string second = fake.taken();
  EXPECT_THAT(second, testing::StartsWith("\r\x1b[11A\r\x1b[J"));
  EXPECT_THAT(second, testing::EndsWith("\rbar 1\x1b[K"));
  screen.note("muster: hear");
  EXPECT_THAT(fake.taken(), testing::StartsWith("\r\x1b[11A\x1b[Jmuster: hear\n"));
  // After a change of size, and after something else was written, it begins anew below.
  fake.columns = 60;
  screen.record(record_of(3, 0.6));
  EXPECT_THAT(fake.taken(), testing::StartsWith("\n\r\x1b[J"));
  fake.interrupt = true;
  screen.record(record_of(4, 0.6));
  EXPECT_THAT(fake.taken(), testing::StartsWith("\n\r\x1b[J"));
  screen.record(record_of(5, 0.6));
  EXPECT_THAT(fake.taken(), testing::StartsWith("\r\x1b[11A"));
  // No mode of the terminal is changed: nothing has to be undone.
  EXPECT_THAT(second, Not(HasSubstr("\x1b[?")));
}

TEST(WatchScreen, LeavesAPipeAlone) {
  FakeScreen fake;
  fake.terminal = false;
  WatchScreen screen(
      fake.sink(), [] { return 24u; }, {.colour = true, .unicode = true}, nullptr);
  screen.record(record_of(1, 0.5, 4));
  EXPECT_EQ(fake.taken(), "");
  screen.note("muster: hear");
  screen.sink().write("round 1\n");
  EXPECT_EQ(fake.taken(), "muster: hear\nround 1\n");
}

}  // namespace
}  // namespace muster
