#include "record/run_lock.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <thread>

#include "record/lock_probe.h"
#include "scratch_folder.h"

namespace muster {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// A process that has the folder locked, until it is told to end or is killed.
class Holder {
 public:
  explicit Holder(const std::filesystem::path& folder) {
    int locked[2];
    int leave[2];
    EXPECT_EQ(::pipe(locked), 0);
    EXPECT_EQ(::pipe(leave), 0);
    child_ = ::fork();
    if (child_ == 0) {
      ::close(locked[0]);
      ::close(leave[1]);
      hold(folder, locked[1], leave[0]);
    }
    ::close(locked[1]);
    ::close(leave[0]);
    leave_ = leave[1];
    char word = 0;
    EXPECT_EQ(::read(locked[0], &word, 1), 1) << "the child could not take the lock";
    ::close(locked[0]);
  }
  pid_t process() const { return child_; }
  void end() {
    ::close(leave_);
    wait();
  }
  void kill() {
    ::kill(child_, SIGKILL);
    ::close(leave_);
    wait();
  }

 private:
  [[noreturn]] static void hold(const std::filesystem::path& folder, int locked, int leave) {
    {
      const Result<RunLock> lock = RunLock::take(folder);
      char word = 'x';
      if (!lock || ::write(locked, &word, 1) != 1) ::_exit(1);
      while (::read(leave, &word, 1) > 0) {
      }
    }
    ::_exit(0);
  }
  void wait() {
    int status = 0;
    EXPECT_EQ(::waitpid(child_, &status, 0), child_);
  }

  pid_t child_ = -1;
  int leave_ = -1;
};

TEST(RunLock, AnotherProcessIsRefusedByNameUntilTheHolderEnds) {
  const ScratchFolder folder;
  Holder holder(folder.path());
  const Result<RunLock> refused = RunLock::take(folder.path());
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kFailed);
  char host[256] = {};
  ASSERT_EQ(::gethostname(host, sizeof host - 1), 0);
  EXPECT_THAT(refused.error().message, AllOf(HasSubstr(folder.path().string()),
                                             HasSubstr(fmt::format("process {} on {}", holder.process(), host)),
                                             HasSubstr("wait until it ends, or stop it")));
  EXPECT_FALSE(RunLock::take(folder.path()).ok()) << "being refused must not break the lock";
  holder.end();
  EXPECT_TRUE(RunLock::take(folder.path()).ok());
}

TEST(RunLock, OfAKilledProcessIsNoLock) {
  const ScratchFolder folder;
  Holder holder(folder.path());
  holder.kill();
  EXPECT_TRUE(std::filesystem::exists(folder / "lock")) << "a killed process leaves its file";
  const Result<RunLock> taken = RunLock::take(folder.path());
  ASSERT_TRUE(taken.ok()) << taken.error().message;
  EXPECT_THAT(slurp(folder / "lock"), HasSubstr(fmt::format("process {} ", ::getpid())));
}

TEST(RunLock, LeavesNoFileAndMoves) {
  const ScratchFolder folder;
  {
    Result<RunLock> taken = RunLock::take(folder.path());
    ASSERT_TRUE(taken.ok());
    RunLock moved = std::move(*taken);
    EXPECT_FALSE(RunLock::take(folder.path()).ok());
    moved = RunLock();
    EXPECT_TRUE(RunLock::take(folder.path()).ok());
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
  EXPECT_FALSE(RunLock::take(folder / "absent").ok());
}

TEST(RunLock, ThoseThatLookSeeItAndDisturbNobody) {
  const ScratchFolder folder;
  EXPECT_FALSE(is_locked(folder.path()));
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
  {
    const Result<RunLock> taken = RunLock::take(folder.path());
    EXPECT_TRUE(is_locked(folder.path()));
  }
  EXPECT_FALSE(is_locked(folder.path()));
  std::ofstream(folder / "lock") << "process 1 on nowhere\n";  // as a killed process leaves it
  EXPECT_FALSE(is_locked(folder.path()));
  std::atomic<bool> enough{false};
  std::thread looking([&] {
    while (!enough) static_cast<void>(is_locked(folder.path()));
  });
  for (int i = 0; i < 200; ++i) EXPECT_TRUE(RunLock::take(folder.path()).ok());
  enough = true;
  looking.join();
}

}  // namespace
}  // namespace muster
