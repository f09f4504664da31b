#include "base/fail_point.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <fstream>
#include <functional>
#include <set>

#include "base/file.h"
#include "scratch_folder.h"

namespace muster {
namespace {

using ::testing::HasSubstr;

class FailPoints : public testing::Test {
 protected:
  ~FailPoints() override { EXPECT_TRUE(arm_fail_points(nullptr, nullptr).ok()); }

  [[nodiscard]] std::string content(const std::string& name) const {
    std::ifstream in(scratch_.path() / name, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  // In a process of its own, which is to die.
  void dies_at(const std::string& where, const std::function<void()>& work) {
    EXPECT_EXIT(
        {
          if (arm_fail_points(where.c_str(), nullptr).ok()) work();
          std::_Exit(0);
        },
        testing::KilledBySignal(SIGKILL), "")
        << where;
  }

  ScratchFolder scratch_;
};

TEST_F(FailPoints, AreNotArmedUnlessTheEnvironmentSaysSo) {
  EXPECT_FALSE(fail_points_armed());
  ASSERT_TRUE(arm_fail_points("", "").ok());
  EXPECT_FALSE(fail_points_armed());
  ASSERT_TRUE(arm_fail_points("write.before@x:1", nullptr).ok());
  EXPECT_TRUE(fail_points_armed());
}

TEST_F(FailPoints, AWrongOneIsAnErrorThatNamesTheRightOnes) {
  const auto message = [](const char* text) {
    const Status status = arm_fail_points(text, nullptr);
    return status.ok() ? "" : status.error().message;
  };
  EXPECT_THAT(message("wriet.before@x:1"), HasSubstr("did you mean 'write.before'"));
  EXPECT_THAT(message("write.before:1"), HasSubstr("want POINT@SUBJECT:COUNT"));
  EXPECT_THAT(message("write.before@x"), HasSubstr("want POINT@SUBJECT:COUNT"));
  EXPECT_THAT(message("write.before@x:0"), HasSubstr("a count >= 1"));
  EXPECT_THAT(message("write.before@x:1:sleep"), HasSubstr("kill or stop"));
  const std::vector<std::string> names = fail_point_names();
  EXPECT_EQ(std::set<std::string>(names.begin(), names.end()).size(), names.size());
  EXPECT_EQ(names.size(), static_cast<std::size_t>(FailPoint::kAfterCommit) + 1);
}

// Whatever a write is killed at, the file is as it was before, or whole.
TEST_F(FailPoints, AFileThatIsReplacedIsTheOldOrTheNewOne) {
  const auto path = scratch_.path() / "round-12.checkpoint";
  const auto write = [&] { (void)write_file(path, "new"); };
  for (const char* point : {"write.before", "write.after", "fsync.before", "fsync.after", "rename.before"}) {
    ASSERT_TRUE(write_file(path, "old").ok());
    dies_at(fmt::format("{}@round-.checkpoint:1", point), write);
    EXPECT_EQ(content("round-12.checkpoint"), "old") << point;
  }
  dies_at("rename.after@round-.checkpoint:1", write);
  EXPECT_EQ(content("round-12.checkpoint"), "new");
}

TEST_F(FailPoints, CountsAndSubjectsSayWhichTime) {
  const auto path = scratch_.path() / "lines";
  const auto append = [&] {
    auto file = FileAppender::open(path);
    for (int i = 0; file.ok() && i < 4; ++i) (void)file->append("line\n");
  };
  dies_at("write.before@lines:1,append.before@other:1,append.after@lines:2", append);
  EXPECT_EQ(content("lines"), "line\nline\n");
  dies_at("append.half@lines:1", append);
  EXPECT_EQ(content("lines"), "line\nline\nli");
}

TEST_F(FailPoints, ATraceTellsWhatWasReached) {
  ASSERT_TRUE(arm_fail_points(nullptr, (scratch_.path() / "trace").c_str()).ok());
  ASSERT_TRUE(write_file(scratch_.path() / "a1.txt", "x").ok());
  EXPECT_EQ(content("trace"),
            "write.before@a.txt\nwrite.after@a.txt\nfsync.before@a.txt\nfsync.after@a.txt\nrename.before@a.txt\n"
            "rename.after@a.txt\n");
}

// A line that did not fit is not there in part, or the next one would be glued to it.
TEST_F(FailPoints, AnAppendThatFailsLeavesTheFileAsItWas) {
  const auto path = scratch_.path() / "lines";
  const auto fill = [&] {
    std::signal(SIGXFSZ, SIG_IGN);
    rlimit limit{};
    limit.rlim_cur = limit.rlim_max = 8;
    ::setrlimit(RLIMIT_FSIZE, &limit);
    auto file = FileAppender::open(path);
    const bool first = file.ok() && file->append("line\n").ok();
    const bool second = file.ok() && file->append("another line\n").ok();
    std::_Exit(first && !second ? 3 : 0);
  };
  EXPECT_EXIT(fill(), testing::ExitedWithCode(3), "");
  EXPECT_EQ(content("lines"), "line\n");
}

}  // namespace
}  // namespace muster
