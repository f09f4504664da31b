// The store is written while runs go on, and whatever becomes of it, they do not mind.
#include "store/store_keeper.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <gmock/gmock.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <functional>
#include <thread>

#include "base/fail_point.h"
#include "engine/random_composition.h"
#include "engine/small_run.h"
#include "store/store_contents.h"

namespace muster {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class StoreKeeping : public SimulationTest {
 protected:
  std::filesystem::path out() { return folder_.path() / "runs"; }
  Store stored() { return std::move(Store::open_file(out())).value(); }
};

TEST_F(StoreKeeping, WritesWhileTheRunGoesOn) {
  std::vector<std::string> said;
  SimulationOptions o = options();
  bool seen = false;
  StoreKeeper keeper(out(), [&](const std::string& text) { said.push_back(text); });
  o.on_round = [&](std::uint32_t round) {
    if (round != 3) return;
    for (int tries = 0; tries < 500 && !seen; ++tries) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      if (!std::filesystem::exists(out() / kStoreFile)) continue;
      const auto runs = stored().list();
      seen = runs && runs->size() == 1 && runs->front().rounds == 3 &&
             runs->front().condition == RunCondition::kRunning && runs->front().stopped.empty();
    }
  };
  const auto summary = simulate(small(), o);
  ASSERT_TRUE(summary.ok()) << summary.error().message;
  keeper.finish();
  EXPECT_TRUE(seen);
  EXPECT_THAT(said, IsEmpty());
  EXPECT_EQ(stored().find(summary->run)->signature, summary->signature);
  EXPECT_EQ(store_contents(stored()), contents_made_anew(out()));
}

TEST_F(StoreKeeping, MakesNothingWhereThereAreNoRuns) {
  { StoreKeeper keeper(out(), {}); }
  EXPECT_FALSE(std::filesystem::exists(out()));
  std::filesystem::create_directories(out() / "other");
  { StoreKeeper keeper(out(), {}); }
  EXPECT_FALSE(std::filesystem::exists(out() / kStoreFile));
}

TEST_F(StoreKeeping, ARunDoesNotMindABrokenStore) {
  std::filesystem::create_directories(out() / kStoreFile);  // nothing can be written there
  std::vector<std::string> said;
  {
    StoreKeeper keeper(out(), [&](const std::string& text) { said.push_back(text); });
    run(small());
    run(small());
    keeper.finish();
  }
  ASSERT_THAT(said, SizeIs(1));
  EXPECT_THAT(said[0], HasSubstr("cannot be written to"));
}

TEST_F(StoreKeeping, AStoreThatIsDeletedMeanwhileIsMadeAnew) {
  StoreKeeper keeper(out(), {});
  SimulationOptions o = options();
  o.on_round = [&](std::uint32_t round) {
    if (round != 3) return;
    for (int tries = 0; tries < 500 && !std::filesystem::exists(out() / kStoreFile); ++tries) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    for (const char* ending : {"", "-wal", "-shm"}) std::filesystem::remove((out() / kStoreFile).string() + ending);
  };
  const auto summary = simulate(small(), o);
  keeper.finish();
  EXPECT_EQ(stored().find(summary->run)->rounds, 6u);
}

// A disk that is full, for the store alone.
TEST_F(StoreKeeping, AFullDiskCostsTheStoreOnly) {
  const std::filesystem::path disk = folder_.path() / "disk";
  std::filesystem::create_directories(disk);
  if (::mount("none", disk.c_str(), "tmpfs", 0, "size=72k") != 0) GTEST_SKIP() << "cannot mount a small disk";
  std::filesystem::create_directories(out());
  std::filesystem::create_symlink(disk / "store.sqlite", out() / kStoreFile);
  std::vector<std::string> said;
  {
    StoreKeeper keeper(out(), [&](const std::string& text) { said.push_back(text); });
    run(small());
    keeper.finish();
  }
  std::string why_not;
  const auto runs = std::move(Store::open(out(), &why_not)).value().list();
  EXPECT_THAT(*runs, SizeIs(1));
  ::umount(disk.c_str());
  ASSERT_THAT(said, SizeIs(1));
  EXPECT_THAT(said[0], HasSubstr("full"));
}

// What may become of the file while a run goes on: the run does not mind, and the store can be made anew.
TEST_F(StoreKeeping, WhateverBecomesOfItsFileTheRunGoesOn) {
  const std::string file = (out() / kStoreFile).string();
  const auto garbage = [](const std::string& name) { std::ofstream(name, std::ios::binary) << std::string(9000, 'x'); };
  std::thread holder;
  const std::vector<std::function<void()>> misfortunes{
      [&] { garbage(file); }, [&] { garbage(file + "-wal"); }, [&] { std::filesystem::resize_file(file, 100); },
      [&] {  // somebody writes for a while
        holder = std::thread([&] {
          SQLite::Database other(file, SQLite::OPEN_READWRITE);
          other.setBusyTimeout(1000);
          const SQLite::Transaction transaction(other, SQLite::TransactionBehavior::EXCLUSIVE);
          std::this_thread::sleep_for(std::chrono::milliseconds(600));
        });
      }};
  const std::string signature = run(small()).signature;
  for (const auto& misfortune : misfortunes) {
    std::filesystem::remove_all(out());
    std::vector<std::string> said;
    StoreKeeper keeper(out(), [&](const std::string& text) { said.push_back(text); });
    SimulationOptions o = options();
    o.on_round = [&](std::uint32_t round) {
      if (round != 3) return;
      for (int tries = 0; tries < 500 && !std::filesystem::exists(file + "-wal"); ++tries) {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
      }
      misfortune();
    };
    const auto summary = simulate(small(), o);
    keeper.finish();
    if (holder.joinable()) holder.join();
    ASSERT_TRUE(summary.ok()) << summary.error().message;
    EXPECT_EQ(summary->signature, signature);
    EXPECT_LE(said.size(), 1u);
    // Whatever is left of it, what is told is what the folders say.
    std::string why_not;
    Result<Store> store = Store::open(out(), &why_not);
    ASSERT_TRUE(store.ok()) << store.error().message;
    if (!store->refresh(Look::kClose)) continue;  // damaged: `muster runs reindex`
    EXPECT_EQ(store_contents(*store), contents_made_anew(out()));
  }
}

// However a run is interrupted and resumed, the store that was written as it went is the one that its folder gives.
TEST_F(StoreKeeping, IsWhatReindexMakesForRandomCompositions) {
  const char* const wanted = std::getenv("MUSTER_COMPOSITIONS");
  const int compositions = wanted ? std::atoi(wanted) : 6;
  for (int number = 0; number < compositions; ++number) {
    SCOPED_TRACE(number);
    RandomComposition random(static_cast<std::uint32_t>(9000 + number));
    const Recipe recipe = recipe_of({random.draw()});
    SimulationOptions o = options(2);
    std::atomic<bool> stop{false};
    o.interrupt = &stop;
    o.on_round = [&](std::uint32_t round) { stop = round == 2 || round == 4; };
    Store live = stored();
    StoreKeeper keeper(out(), {});
    auto summary = simulate(recipe, o);
    for (int i = 0; i < 4 && summary && summary->stopped == StopReason::kInterrupted; ++i) {
      ASSERT_TRUE(live.refresh(Look::kQuick).ok());
      summary = resume(summary->dir.string(), {}, o);
      ASSERT_TRUE(live.refresh(Look::kQuick).ok());
    }
    keeper.finish();
    if (!summary) continue;  // its data did not suit it
    EXPECT_EQ(live.find(summary->run)->signature, summary->signature);
    EXPECT_EQ(live.find(summary->run)->fault, "");
    EXPECT_EQ(store_contents(live), contents_made_anew(out()));
  }
}

// A process that dies before or after any commit of the store: the run goes on from its checkpoint, and the store that
// others go on with is the one that the folders give. The first commit makes the tables, the others are of a round
// each.
TEST_F(StoreKeeping, AProcessMayDieAtAnyCommit) {
  const char* const wanted = std::getenv("MUSTER_COMPOSITIONS");
  const int compositions = wanted ? std::atoi(wanted) : 2;
  for (int number = 0; number < compositions; ++number) {
    RandomComposition random(static_cast<std::uint32_t>(9100 + number));
    const Recipe recipe = recipe_of({random.draw(), {"checkpoint-every=2"}});
    SimulationOptions o = options(2);
    const auto undisturbed = simulate(recipe, o);
    if (!undisturbed) continue;  // its data did not suit it
    const auto simulate_stored = [&](const std::string& run) {
      Store store = stored();
      SimulationOptions watched = o;
      watched.on_round = [&](std::uint32_t) { EXPECT_TRUE(store.refresh(Look::kQuick).ok()); };
      auto summary = run.empty() ? simulate(recipe, watched) : resume(run, {}, watched);
      EXPECT_TRUE(store.refresh(Look::kQuick).ok());
      return summary;
    };
    for (const std::string point : {"commit.before", "commit.after"}) {
      for (std::uint32_t count = 1; count <= 4; ++count) {
        SCOPED_TRACE(fmt::format("composition {}, {} {}", number, point, count));
        std::filesystem::remove_all(out());
        const pid_t child = ::fork();
        if (child == 0) {
          const std::string where = fmt::format("{}@store.sqlite:{}", point, count);
          if (!arm_fail_points(where.c_str(), nullptr)) ::_exit(1);
          (void)simulate_stored("");
          ::_exit(0);
        }
        int status = 0;
        ::waitpid(child, &status, 0);
        ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << status;
        std::string run;
        for (const auto& entry : std::filesystem::directory_iterator(out())) {
          if (std::filesystem::exists(entry.path() / "recipe.toml")) run = entry.path().string();
        }
        const auto summary = simulate_stored(run);
        ASSERT_TRUE(summary.ok()) << summary.error().message;
        EXPECT_EQ(summary->signature, undisturbed->signature);
        EXPECT_EQ(stored().find(summary->run)->signature, summary->signature);
        EXPECT_EQ(store_contents(stored()), contents_made_anew(out()));
      }
    }
  }
}

}  // namespace
}  // namespace muster
