// Comparisons on ranks that are threads of this process: the runs and the table of one process, at any number of ranks
// and threads, interrupted or not; and what becomes of a run or a rank that fails.
#include "engine/rank_sweep.h"

#include <gmock/gmock.h>
#include <sched.h>
#include <unistd.h>

#include "engine/comparison.h"
#include "engine/comparison_json.h"
#include "engine/comparison_table.h"
#include "ranks/messages.h"
#include "ranks/patience.h"
#include "record/run_lock.h"
#include "run_records.h"
#include "site_table.h"
#include "thread_job.h"

namespace muster {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::StartsWith;

class RankSweepTest : public SimulationTest {
 protected:
  static std::vector<ComparisonRow> three(const Settings& settings = {}) {
    const auto row = [&](const std::string& label, Settings own) {
      own.insert(own.end(), settings.begin(), settings.end());
      return ComparisonRow{.label = label, .recipe = small(own)};
    };
    return {row("plain", {}), row("prox", {"local.objective=prox", "local.mu=0.5"}),
            row("control", {"local.objective=control-variate", "aggregation.global=control-variate"})};
  }
  ComparisonOptions options_in(const std::string& out, Ranks* ranks, std::uint32_t threads = 1) {
    ComparisonOptions o{.seeds = {1, 2}};
    o.sweep.threads = threads;
    o.sweep.out = folder_.path() / out;
    o.sweep.quiet = true;
    o.sweep.say = [this](const std::string& note) { said_.push_back(note); };
    o.sweep.ranks = ranks;
    return o;
  }
  Comparison compared(const std::vector<ComparisonRow>& rows, const ComparisonOptions& options) {
    Result<Comparison> result = run_comparison(rows, options);
    EXPECT_TRUE(result.ok()) << result.error().message;
    return result.ok() ? std::move(*result) : Comparison{};
  }
  static std::string error_of(const Result<Comparison>& result) {
    EXPECT_FALSE(result.ok());
    return result.ok() ? std::string() : result.error().message;
  }
  // All that the comparison says but for times.
  static nlohmann::json told(const Comparison& comparison) {
    auto json = nlohmann::json::parse(to_json(tabulate(comparison, {})));
    for (auto& method : json["methods"]) {
      method.erase("wall_s_mean");
      method.erase("wall_s_std");
    }
    return json;
  }
  static std::size_t entries(const std::filesystem::path& folder) {
    std::error_code none;
    std::filesystem::directory_iterator first(folder, none);
    return static_cast<std::size_t>(std::distance(begin(first), end(first)));
  }

  std::vector<std::string> said_;
};

TEST_F(RankSweepTest, IsTheComparisonOfOneProcess) {
  const Comparison alone = compared(three(), options_in("alone", nullptr));
  for (const std::uint32_t ranks : {1u, 2u, 3u}) {
    for (const std::uint32_t threads : {1u, 3u}) {
      ThreadJob job(ranks);
      const std::string out = fmt::format("{}x{}", ranks, threads);
      const Comparison beside = compared(three(), options_in(out, &job.first(), threads));
      EXPECT_EQ(told(beside), told(alone)) << out;
      EXPECT_EQ(beside.ran, 6u);
      EXPECT_EQ(entries(folder_.path() / out), 6u) << "one folder for each run and nothing else";
      for (std::size_t r = 0; r < 3; ++r) {
        for (std::size_t s = 0; s < 2; ++s) {
          const RunCurve& one = alone.rows[r].best().runs[s];
          const RunCurve& other = beside.rows[r].best().runs[s];
          EXPECT_TRUE(records_of({.dir = other.dir}) == records_of({.dir = one.dir})) << other.run;
          EXPECT_EQ(slurp(other.dir / "recipe.toml"), slurp(one.dir / "recipe.toml"));
        }
      }
      // Finished runs are found by whoever looks, on any number of ranks.
      EXPECT_EQ(compared(three(), options_in(out, nullptr)).ran, 0u);
      EXPECT_EQ(compared(three(), options_in("alone", &job.first())).ran, 0u);
    }
  }
}

// What each rank has been asked to do.
class CountingRanks final : public Ranks {
 public:
  explicit CountingRanks(Ranks& ranks) : runs(ranks.size()), ranks_(ranks) {}
  std::uint32_t rank() const override { return ranks_.rank(); }
  std::uint32_t size() const override { return ranks_.size(); }
  std::vector<std::uint32_t> neighbours() const override { return ranks_.neighbours(); }
  std::string name(std::uint32_t rank) const override { return ranks_.name(rank); }
  void send(std::uint32_t to, Parcel parcel) override {
    if (static_cast<Message>(parcel.words.front()) == Message::kSimulate && ++runs[to] == 2 && at_second) at_second();
    ranks_.send(to, std::move(parcel));
  }
  std::optional<Arrived> receive() override { return ranks_.receive(); }
  bool sending() override { return ranks_.sending(); }
  void give_all(std::span<const float> values) override { ranks_.give_all(values); }
  void take_all(std::span<float> values) override { ranks_.take_all(values); }
  std::optional<std::uint32_t> lost() override { return ranks_.lost(); }
  Traffic traffic() const override { return ranks_.traffic(); }

  std::vector<std::uint32_t> runs;
  std::function<void()> at_second;  // before a rank is given its second run

 private:
  Ranks& ranks_;
};

TEST_F(RankSweepTest, FewRunsAreSpreadOverTheRanks) {
  ThreadJob job(3);
  CountingRanks ranks(job.first());
  ComparisonOptions options = options_in("spread", &ranks, 4);
  options.seeds = {1};
  compared(three(), options);
  EXPECT_EQ(ranks.runs, (std::vector<std::uint32_t>{0, 1, 1})) << "rank 0 has four threads, and took one";
}

TEST_F(RankSweepTest, DataOfASeedAreReadOncePerRank) {
  const std::filesystem::path table = folder_.path() / "sites.csv";
  std::ofstream(table) << site_table({.sites = 6});
  std::vector<ComparisonRow> rows;
  for (const char* mu : {"0.1", "0.2", "0.3", "0.4", "0.5", "0.6"}) {
    rows.push_back({.label = mu,
                    .recipe = recipe_of({{"data.source=csv", "data.path=" + table.string(), "data.label=outcome",
                                          "data.client=site", "data.test-fraction=0.2", "model.name=softmax",
                                          "local.objective=prox", fmt::format("local.mu={}", mu), "rounds=3"}})});
  }
  ThreadJob job(2);
  CountingRanks ranks(job.first());
  // Rank 1 has one thread: its first run has ended, and the table was there for it.
  ranks.at_second = [&] { std::filesystem::remove(table); };
  ComparisonOptions options = options_in("once", &ranks);
  options.seeds = {1};
  EXPECT_EQ(compared(rows, options).ran, 6u);
}

// The number of ranks before the interruption, and after it.
struct Cut {
  std::uint32_t before;
  std::uint32_t after;
};

TEST_F(RankSweepTest, WhatIsInterruptedGoesOnOnAnyNumberOfRanks) {
  const std::vector<ComparisonRow> rows = three({"rounds=12"});
  const Comparison whole = compared(rows, options_in("alone", nullptr));
  for (const Cut& cut : {Cut{3, 2}, Cut{2, 1}, Cut{1, 3}}) {
    const std::string out = fmt::format("cut-{}-{}", cut.before, cut.after);
    std::atomic<bool> interrupt{false};
    std::atomic<std::uint32_t> times{0};
    Comparison first;
    {
      ThreadJob job(cut.before);
      ComparisonOptions options = options_in(out, &job.first(), 2);
      options.sweep.interrupt = &interrupt;
      // Progress asks for the time when rounds are told.
      options.sweep.quiet = false;
      options.sweep.progress = {.write = [](std::string_view) {},
                                .seconds =
                                    [&] {
                                      if (++times == 6) interrupt = true;
                                      return 0.0;
                                    },
                                .width = [] { return 80u; }};
      first = compared(rows, options);
      ASSERT_TRUE(first.interrupted) << out;
      EXPECT_LT(first.finished_runs, 6u);
    }
    const std::size_t begun = entries(folder_.path() / out);
    EXPECT_GT(begun, 0u);
    ThreadJob job(cut.after);
    const Comparison rest = compared(rows, options_in(out, &job.first()));
    EXPECT_EQ(rest.ran, 6 - first.finished_runs);
    EXPECT_EQ(entries(folder_.path() / out), 6u) << "what was begun is gone on with, not begun again";
    EXPECT_EQ(told(rest), told(whole)) << out;
  }
}

// Two runs without an end, one on each rank.
TEST_F(RankSweepTest, AnInterruptionReachesTheRunsOfOtherRanks) {
  ThreadJob job(2);
  ComparisonOptions options = options_in("endless", &job.first());
  options.seeds = {1};
  std::atomic<bool> interrupt{false};
  options.sweep.interrupt = &interrupt;
  options.sweep.quiet = false;
  const auto recorded = [&](const char* file) {
    std::size_t count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(options.sweep.out)) {
      count += std::filesystem::exists(entry.path() / file) ? 1 : 0;
    }
    return count;
  };
  options.sweep.progress = {.write = [](std::string_view) {},
                            .seconds =
                                [&] {
                                  if (recorded("rounds.jsonl") == 2) interrupt = true;
                                  return 0.0;
                                },
                            .width = [] { return 80u; }};
  std::vector<ComparisonRow> rows = three({"rounds=1000000"});
  rows.pop_back();
  const Comparison cut = compared(rows, options);
  EXPECT_TRUE(cut.interrupted);
  EXPECT_EQ(cut.finished_runs, 0u);
  EXPECT_EQ(recorded("summary.json"), 2u) << "both have saved";
}

TEST_F(RankSweepTest, ProgressCountsTheRoundsOfAllRanks) {
  ThreadJob job(3);
  ComparisonOptions options = options_in("told", &job.first());
  std::string shown;
  std::atomic<bool> begun{false};
  options.sweep.quiet = false;
  // One second passes between the first look at the clock and all others.
  options.sweep.progress = {.write = [&](std::string_view text) { shown += text; },
                            .seconds = [&] { return begun.exchange(true) ? 1.0 : 0.0; },
                            .width = [] { return 80u; }};
  compared(three(), options);
  EXPECT_EQ(shown, "6/6 runs  100 %  36 rounds/s  1s in all\n");
}

TEST_F(RankSweepTest, ARunThatFailsOnAnotherRankIsNamedAndTheJobStaysUsable) {
  ThreadJob job(2);
  ComparisonOptions options = options_in("failing", &job.first());
  options.seeds = {7};
  const std::vector<ComparisonRow> one{three().front()};
  const std::filesystem::path dir = compared(one, options).rows[0].best().runs[0].dir;
  std::filesystem::remove(dir / "summary.json");
  {
    const auto lock = RunLock::take(dir);
    ASSERT_TRUE(lock.ok());
    EXPECT_THAT(error_of(run_comparison(one, options)),
                AllOf(StartsWith("plain, seed 7: rank 1 on here: "), HasSubstr("is running it")));
  }
  EXPECT_EQ(compared(one, options).rows[0].best().runs[0].dir, dir);
}

TEST_F(RankSweepTest, TornFoldersAreSaidAndLeftAlone) {
  ThreadJob job(3);
  const Comparison first = compared(three(), options_in("torn", &job.first()));
  for (const ComparedRow& row : first.rows) {
    for (const RunCurve& run : row.best().runs) {
      std::filesystem::remove(run.dir / "summary.json");
      for (const auto& entry : std::filesystem::directory_iterator(run.dir / "checkpoint")) {
        std::ofstream(entry.path(), std::ios::trunc) << "torn";
      }
    }
  }
  said_.clear();
  const Comparison second = compared(three(), options_in("torn", &job.first()));
  EXPECT_EQ(second.ran, 6u);
  for (std::size_t r = 0; r < 3; ++r) {
    for (std::size_t s = 0; s < 2; ++s) {
      const RunCurve& old = first.rows[r].best().runs[s];
      EXPECT_EQ(second.rows[r].best().runs[s].signature, old.signature);
      EXPECT_EQ(second.rows[r].best().runs[s].run, old.run + "-2");
      EXPECT_THAT(said_, Contains(AllOf(HasSubstr(old.run), HasSubstr("left alone"))));
    }
  }
}

// A machine that does not share the folder: its thread is in another one, where the same words mean another place.
TEST_F(RankSweepTest, ARankThatDoesNotSeeTheFolderIsNamed) {
  // So deep that the way up from here ends below the root.
  std::filesystem::path elsewhere = folder_.path() / "elsewhere";
  for (int i = 0; i < 40; ++i) elsewhere /= "x";
  std::filesystem::create_directories(elsewhere);
  auto ranks = ThreadRanks::make(2);
  std::thread other([own = ranks[1].get(), elsewhere] {
    ASSERT_EQ(::unshare(CLONE_FS), 0);
    ASSERT_EQ(::chdir(elsewhere.c_str()), 0);
    EXPECT_EQ(serve_runs(*own), 0);
  });
  ComparisonOptions options = options_in("", ranks[0].get());
  options.sweep.out = std::filesystem::relative(folder_.path() / "not-shared");
  const std::string error = error_of(run_comparison(three(), options));
  quit_ranks(*ranks[0], 0);
  other.join();
  EXPECT_THAT(error, AllOf(HasSubstr("rank 1 on here"), HasSubstr("not-shared"), HasSubstr("all machines must share")));
  EXPECT_EQ(entries(folder_.path() / "not-shared"), 0u) << "nothing ran, and the mark is gone";
}

TEST_F(RankSweepTest, ARankThatDiesIsNamed) {
  auto ranks = ThreadRanks::make(2);
  std::thread other([own = ranks[1].get(), first = ranks[0].get()] {
    while (true) {
      auto arrived = wait_for_parcel(*own);
      if (!arrived) return;
      ParcelReader in(std::move(arrived->parcel));
      const auto message = in.take<Message>();
      if (message == Message::kSweep) {
        ParcelWriter ready;
        ready.put(Message::kReady);
        ready.put(std::uint32_t{1});
        ready.put_text("");
        own->send(0, std::move(ready).finish());
      }
      if (message == Message::kSimulate) return first->lose(1);
    }
  });
  const std::string error = error_of(run_comparison(three(), options_in("dying", ranks[0].get())));
  other.join();
  EXPECT_THAT(error, AllOf(HasSubstr("rank 1 on here has died"), HasSubstr("the same command goes on")));
}

// Words that make no sense end the sweep with an error, not the program.
TEST_F(RankSweepTest, WhatARankSaysIsChecked) {
  const auto after_ready = [this](const std::function<void(ParcelWriter&)>& say) {
    auto ranks = ThreadRanks::make(2);
    std::thread other([own = ranks[1].get(), &say] {
      while (true) {
        auto arrived = wait_for_parcel(*own);
        ParcelReader in(std::move(arrived->parcel));
        const auto message = in.take<Message>();
        ParcelWriter out;
        if (message == Message::kSweep) {
          out.put(Message::kReady);
          out.put(std::uint32_t{1});
          out.put_text("");
        } else if (message == Message::kSimulate) {
          say(out);
        } else if (message == Message::kOver) {
          out.put(Message::kDone);
          out.put(std::uint64_t{0});
          out.put(std::uint64_t{0});
        }
        own->send(0, std::move(out).finish());
        if (message == Message::kOver) return;
      }
    });
    const std::string error = error_of(run_comparison(three(), options_in("checked", ranks[0].get())));
    other.join();
    return error;
  };
  EXPECT_THAT(after_ready([](ParcelWriter& out) {
                out.put(Message::kEnded);
                out.put(std::uint64_t{77});
                out.put(std::uint8_t{1});
                out.put_text("a");
              }),
              AllOf(HasSubstr("rank 1 on here"), HasSubstr("malformed")));
  EXPECT_THAT(after_ready([](ParcelWriter& out) { out.put(Message::kAnswer); }), HasSubstr("malformed"));
  EXPECT_THAT(after_ready([](ParcelWriter& out) { out.put(std::uint8_t{200}); }), HasSubstr("malformed"));
}

}  // namespace
}  // namespace muster
