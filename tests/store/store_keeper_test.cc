// The store is written while runs go on, and whatever becomes of it, they do not mind.
#include "store/store_keeper.h"

#include <gmock/gmock.h>
#include <sys/mount.h>

#include <atomic>
#include <thread>

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
  }
  std::string why_not;
  const auto runs = std::move(Store::open(out(), &why_not)).value().list();
  EXPECT_THAT(*runs, SizeIs(1));
  ::umount(disk.c_str());
  ASSERT_THAT(said, SizeIs(1));
  EXPECT_THAT(said[0], HasSubstr("full"));
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

}  // namespace
}  // namespace muster
