// Runs on ranks that are threads of this process: the same answers as alone, and what becomes of a rank that fails.
// tests/engine/rank_signature_test.cc goes through all recipes on processes.
#include "engine/rank_run.h"

#include <gmock/gmock.h>
#include <sys/resource.h>

#include <csignal>
#include <set>

#include "ranks/messages.h"
#include "ranks/patience.h"
#include "run_records.h"
#include "thread_job.h"

namespace muster {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class RankRunTest : public SimulationTest {
 protected:
  SimulationOptions on(ThreadJob& job, std::uint32_t threads = 1) {
    SimulationOptions wanted = options(threads);
    wanted.ranks = &job.first();
    return wanted;
  }
};

const Settings kPersonal{"local.personal=head", "data.test-fraction=0.2", "faults.drop=0.3", "faults.nan=0.2"};
const Settings kScaffold{"local.objective=control-variate", "aggregation.global=control-variate"};
const Settings kByDirection{"profile.kind=update-direction", "profile.steps=3", "grouping.method=decomposed-cosine",
                            "grouping.groups=3", "aggregation.global=none"};

TEST_F(RankRunTest, LeavesWhatOneProcessLeaves) {
  ThreadJob job(3);
  for (const Settings& settings : {Settings{}, kPersonal, kScaffold, kByDirection}) {
    const Recipe recipe = small(settings);
    const auto summary = simulate(recipe, on(job, 2));
    ASSERT_TRUE(summary.ok()) << summary.error().message;
    EXPECT_TRUE(records_of(*summary) == records_of(run(recipe)));
  }
}

TEST_F(RankRunTest, ResumesOnAnyNumberOfRanks) {
  const Recipe recipe = small(kScaffold);
  const std::string whole = run(recipe).signature;
  for (const std::uint32_t before : {1u, 2u}) {
    std::atomic<bool> interrupt{false};
    std::filesystem::path folder;
    {
      ThreadJob job(before);
      SimulationOptions wanted = on(job);
      wanted.interrupt = &interrupt;
      wanted.on_round = [&](std::uint32_t round) {
        if (round == 3) interrupt = true;
      };
      const auto summary = simulate(recipe, wanted);
      ASSERT_TRUE(summary.ok()) << summary.error().message;
      ASSERT_EQ(summary->stopped, StopReason::kInterrupted);
      folder = summary->dir;
    }
    ThreadJob job(before == 1 ? 3 : 1);
    const auto resumed = resume(folder.string(), {}, on(job, 2));
    ASSERT_TRUE(resumed.ok()) << resumed.error().message;
    EXPECT_EQ(resumed->signature, whole);
  }
}

TEST_F(RankRunTest, ARefusedRecipeLeavesTheJobUsable) {
  ThreadJob job(2);
  const auto refused = simulate(small({"data.source=csv", "data.path=none.csv"}), on(job));
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message, HasSubstr("none.csv"));
  EXPECT_TRUE(simulate(small({"rounds=1"}), on(job)).ok());
}

// A rank that answers the recipe with a failure of its own.
TEST_F(RankRunTest, ARankThatFailsIsNamed) {
  auto ranks = ThreadRanks::make(2);
  std::thread other([own = ranks[1].get()] {
    while (true) {
      auto arrived = wait_for_parcel(*own);
      ParcelReader in(std::move(arrived->parcel));
      const auto message = in.take<Message>();
      if (message == Message::kRecipe) own->send(0, failed_parcel(failure("no memory left")));
      if (message != Message::kOver) continue;
      ParcelWriter done;
      done.put(Message::kDone);
      return own->send(0, std::move(done).finish());
    }
  });
  SimulationOptions wanted = options();
  wanted.ranks = ranks[0].get();
  const auto failed = simulate(small(), wanted);
  other.join();
  ASSERT_FALSE(failed.ok());
  EXPECT_THAT(failed.error().message, AllOf(HasSubstr("rank 1 on here"), HasSubstr("no memory left")));
}

TEST_F(RankRunTest, ARankThatDiesIsNamed) {
  auto ranks = ThreadRanks::make(2);
  ranks[0]->lose(1);
  SimulationOptions wanted = options();
  wanted.ranks = ranks[0].get();
  const auto failed = simulate(small(), wanted);
  ASSERT_FALSE(failed.ok());
  EXPECT_THAT(failed.error().message, AllOf(HasSubstr("rank 1 on here has died"), HasSubstr("--resume")));
}

// The mappings of shared data in this process, by what they show.
std::map<std::string, std::uint32_t> shared_mappings() {
  std::map<std::string, std::uint32_t> count;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    if (line.find("/memfd:muster-data") == std::string::npos) continue;
    std::istringstream words(line);
    std::string word;
    for (int i = 0; i < 5; ++i) words >> word;  // address, rights, offset, device, inode
    ++count[word];
  }
  return count;
}

TEST_F(RankRunTest, RanksOfAMachineShareStoredSamples) {
  ThreadJob job(3);
  SimulationOptions wanted = on(job);
  std::map<std::string, std::uint32_t> seen;
  wanted.on_round = [&](std::uint32_t) { seen = shared_mappings(); };
  for (const Recipe& recipe : {images({"rounds=2"}), images({"rounds=2", "data.validation-fraction=0.2"})}) {
    const auto summary = simulate(recipe, wanted);
    ASSERT_TRUE(summary.ok()) << summary.error().message;
    EXPECT_THAT(seen, testing::ElementsAre(testing::Pair(testing::_, 3u)));
    EXPECT_TRUE(shared_mappings().empty());
    EXPECT_TRUE(records_of(*summary) == records_of(run(recipe)));
  }
}

// No file, also none without a name, may have more than a megabyte.
class SmallFiles {
 public:
  SmallFiles() {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    rlimit small = before_;
    small.rlim_cur = 1 << 20;
    ::setrlimit(RLIMIT_FSIZE, &small);
    signal_ = std::signal(SIGXFSZ, SIG_IGN);
  }
  ~SmallFiles() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, signal_);
  }
  SmallFiles(const SmallFiles&) = delete;
  SmallFiles& operator=(const SmallFiles&) = delete;

 private:
  rlimit before_{};
  void (*signal_)(int) = nullptr;
};

TEST_F(RankRunTest, WithoutSharedMemoryEveryRankHasACopy) {
  const Recipe recipe = images({"rounds=2"});
  const Records wanted_records = records_of(run(recipe));
  const SmallFiles small;
  ThreadJob job(2);
  SimulationOptions wanted = on(job);
  std::vector<std::string> said;
  wanted.say = [&](const std::string& text) { said.push_back(text); };
  const auto summary = simulate(recipe, wanted);
  ASSERT_TRUE(summary.ok()) << summary.error().message;
  EXPECT_THAT(said, testing::Contains(AllOf(HasSubstr("every rank of this machine has a copy of the data"),
                                            HasSubstr("MB of shared memory: File too large"))));
  EXPECT_TRUE(records_of(*summary) == wanted_records);
}

TEST_F(RankRunTest, ASharedModelTravelsOncePerRankAndRound) {
  ThreadJob job(2);
  const Recipe recipe = small({"rounds=4", "evaluation.every=9", "plan.sample-clients=6"});
  const auto summary = simulate(recipe, on(job));
  ASSERT_TRUE(summary.ok());
  const std::uint64_t model = 4 * (60 * 16 + 16 + 16 * 10 + 10);
  // One of each round, and one of each of the two evaluations at the end.
  EXPECT_EQ(job.first().traffic().sent_bytes, 6 * model);
}

}  // namespace
}  // namespace muster
