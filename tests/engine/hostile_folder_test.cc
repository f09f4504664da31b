// A run's folder is input: whatever somebody made of its files, a resume either goes on or says in one line what is
// wrong, and then leaves the folder as it was. fuzz/run_folder_fuzz.cc tries the same for longer.
#include "hostile_folder.h"

#include <sys/stat.h>

#include "base/random.h"
#include "compositions.h"
#include "small_run.h"

namespace muster {
namespace {

constexpr std::uint32_t kInputs = 16;

class HostileFolderTest : public SimulationTest {
 protected:
  // What the run of a composition leaves when it is interrupted after two rounds of four.
  FolderContent interrupted(const NamedSettings& composition) {
    std::atomic<bool> interrupt{false};
    SimulationOptions o = options();
    o.interrupt = &interrupt;
    o.on_round = [&](std::uint32_t round) { interrupt = round == 2; };
    const auto summary = simulate(recipe_of({kTiny, composition.settings}), o);
    EXPECT_TRUE(summary.ok()) << composition << ": " << summary.error().message;
    return read_folder(summary->dir);
  }
  // Resumes a folder that holds `content` and whatever `spoil` makes of it.
  template <typename Spoil>
  Result<RunSummary> resume_after(const FolderContent& content, const Spoil& spoil, const Settings& settings = {}) {
    write_folder(folder_ / "run", content);
    spoil(folder_ / "run");
    return resume((folder_ / "run").string(), settings, options());
  }
};

class AnyCompositionsFolder : public HostileFolderTest, public testing::WithParamInterface<NamedSettings> {};

INSTANTIATE_TEST_SUITE_P(, AnyCompositionsFolder, testing::ValuesIn(kCompositions),
                         [](const auto& test) { return test_name(test.param.name); });

TEST_P(AnyCompositionsFolder, GoesOnOrIsRefused) {
  std::vector<FolderContent> runs{interrupted(GetParam())};
  const std::size_t self =
      static_cast<std::size_t>(std::ranges::find(kCompositions, std::string(GetParam().name),
                                                 [](const auto& c) { return std::string(c.name); }) -
                               kCompositions.begin());
  runs.push_back(interrupted(kCompositions[(self + 7) % kCompositions.size()]));
  std::uint32_t refused = 0;
  std::uint32_t went_on = 0;
  for (std::uint32_t number = 0; number < kInputs; ++number) {
    Stream stream({.seed = number, .purpose = Purpose::kTest, .part = static_cast<std::uint32_t>(self)});
    std::vector<std::uint8_t> bytes(64);
    for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(stream.below(256));
    const HostileFolder hostile(runs, bytes);
    SCOPED_TRACE(fmt::format("input {}: {}", number, hostile.done()));
    const ResumedFolder resumed =
        resume_folder(folder_ / "spoiled", hostile.content(), number % 4 == 0 ? Settings{"rounds=5"} : Settings{});
    EXPECT_EQ(resumed.wrong, "") << resumed.error;
    ++(resumed.error.empty() ? went_on : refused);
  }
  EXPECT_GT(refused, 0u);
  EXPECT_GT(went_on, 0u);
}

constexpr auto kLeaveIt = [](const std::filesystem::path&) {};

TEST_F(HostileFolderTest, StartsAnewWithoutCheckpoints) {
  const FolderContent content = interrupted({"plain", {}});
  const auto whole = resume_after(content, kLeaveIt);
  ASSERT_TRUE(whole.ok()) << whole.error().message;
  for (const bool keep_folder : {true, false}) {
    const auto anew = resume_after(content, [&](const std::filesystem::path& run) {
      std::filesystem::remove_all(run / "checkpoint");
      if (keep_folder) std::filesystem::create_directory(run / "checkpoint");
    });
    ASSERT_TRUE(anew.ok()) << anew.error().message;
    EXPECT_EQ(anew->signature, whole->signature);
    EXPECT_EQ(lines(anew->dir / "rounds.jsonl").size(), 4u);
  }
}

TEST_F(HostileFolderTest, GoesOnWithoutTheLinesOfEarlierRounds) {
  const auto summary = resume_after(interrupted({"plain", {}}), [](const std::filesystem::path& run) {
    std::filesystem::remove(run / "rounds.jsonl");
    std::filesystem::remove(run / "groups.jsonl");
  });
  ASSERT_TRUE(summary.ok()) << summary.error().message;
  EXPECT_EQ(lines(summary->dir / "rounds.jsonl").size(), 3u);  // the checkpoint knows its last round
}

TEST_F(HostileFolderTest, RefusesARecipeThatIsNone) {
  const FolderContent content = interrupted({"plain", {}});
  const auto with_recipe = [&](const std::string& text) {
    return resume_after(content, [&](const std::filesystem::path& run) { spit(run / "recipe.toml", text); });
  };
  const std::string good = content.at("recipe.toml");
  for (const std::string& text : {std::string(), good + "# \xff\n", good + std::string(2 << 20, '\n'),
                                  good + std::string(1, '\0'), std::string("\x1f\x8b\x08")}) {
    const auto summary = with_recipe(text);
    ASSERT_FALSE(summary.ok()) << text.substr(0, 40);
    EXPECT_EQ(summary.error().code, ErrorCode::kUsage) << summary.error().message;
  }
  const auto folder = resume_after(content, [](const std::filesystem::path& run) {
    std::filesystem::remove(run / "recipe.toml");
    std::filesystem::create_directory(run / "recipe.toml");
  });
  ASSERT_FALSE(folder.ok());
  EXPECT_NE(folder.error().message.find("no run there"), std::string::npos) << folder.error().message;
}

// By a setting or in recipe.toml; also of a run whose clients keep state and that keeps its best models.
TEST_F(HostileFolderTest, FewerRoundsThanAreDoneAreRefused) {
  const FolderContent content =
      interrupted({"state",
                   {"local.objective=control-variate", "aggregation.global=control-variate", "local.state-limit-mb=0",
                    "data.validation-fraction=0.2", "evaluation.keep=best"}});
  const auto refused = [&](const FolderContent& before, const Settings& settings) {
    const auto summary = resume_after(before, kLeaveIt, settings);
    ASSERT_FALSE(summary.ok());
    EXPECT_EQ(summary.error().code, ErrorCode::kUsage);
    EXPECT_EQ(summary.error().message, "rounds: 1, but 2 of the run are done already; want >= 2");
    EXPECT_EQ(read_folder(folder_ / "run"), before);
  };
  refused(content, {"rounds=1"});
  FolderContent edited = content;
  std::string& recipe = edited["recipe.toml"];
  ASSERT_NE(recipe.find("rounds = 4"), std::string::npos) << recipe;
  recipe.replace(recipe.find("rounds = 4"), 10, "rounds = 1");
  refused(edited, {});
  for (const std::uint32_t rounds : {2u, 3u}) {
    const auto summary = resume_after(content, kLeaveIt, {fmt::format("rounds={}", rounds)});
    ASSERT_TRUE(summary.ok()) << summary.error().message;
    EXPECT_EQ(summary->rounds, rounds);
    EXPECT_EQ(summary->stopped, StopReason::kRounds);
  }
}

// Before anything is made of the recipe: this one would want a billion clients.
TEST_F(HostileFolderTest, ChangedKeysAreNamedAndNothingIsWritten) {
  const FolderContent content = interrupted({"plain", {}});
  const std::pair<const char*, const char*> edits[] = {{"clients = 12", "clients = 1000000000"},
                                                       {"learning-rate = 0.1", "learning-rate = 0.2"},
                                                       {"seed = 1", "seed = 2"}};
  for (const auto& [from, to] : edits) {
    FolderContent edited = content;
    std::string& recipe = edited["recipe.toml"];
    ASSERT_NE(recipe.find(from), std::string::npos) << recipe;
    recipe.replace(recipe.find(from), std::strlen(from), to);
    const auto summary = resume_after(edited, kLeaveIt, {"rounds=5"});
    ASSERT_FALSE(summary.ok()) << to;
    EXPECT_EQ(summary.error().code, ErrorCode::kUsage);
    const std::string key = std::string(from).substr(0, std::string(from).find(' '));
    EXPECT_NE(summary.error().message.find(key + " is "), std::string::npos) << summary.error().message;
    EXPECT_TRUE(read_folder(folder_ / "run") == edited) << to;
  }
}

TEST_F(HostileFolderTest, ARefusedResumeDoesNotTakeTheSettings) {
  FolderContent content = interrupted({"plain", {}});
  content["rounds.jsonl"] += "not a record\n";
  const auto summary = resume_after(content, kLeaveIt, {"rounds=5"});
  ASSERT_FALSE(summary.ok());
  EXPECT_NE(summary.error().message.find("rounds.jsonl:3"), std::string::npos) << summary.error().message;
  EXPECT_TRUE(read_folder(folder_ / "run") == content);
}

// A pipe that nobody writes to would be waited for.
TEST_F(HostileFolderTest, PipesAreNotRead) {
  const FolderContent content = interrupted({"control-variate", kCompositions[2].settings});
  const auto pipe_instead_of = [&](const std::string& file) {
    return resume_after(content, [&](const std::filesystem::path& run) {
      std::filesystem::remove(run / file);
      ASSERT_EQ(::mkfifo((run / file).c_str(), 0600), 0) << file;
    });
  };
  const auto whole = resume_after(content, kLeaveIt);
  ASSERT_TRUE(whole.ok());
  const auto without_newest = pipe_instead_of("checkpoint/round-0000000002.checkpoint");
  ASSERT_TRUE(without_newest.ok()) << without_newest.error().message;
  EXPECT_EQ(without_newest->signature, whole->signature);
  for (const char* file : {"rounds.jsonl", "groups.jsonl", "states/states-00000001.log"}) {
    const auto refused = pipe_instead_of(file);
    ASSERT_FALSE(refused.ok()) << file;
    EXPECT_NE(refused.error().message.find(std::string(file) + ": not a file"), std::string::npos)
        << refused.error().message;
  }
}

// A checkpoint that says it is of another round, or whose last record is of one, is not taken; the one before is.
TEST_F(HostileFolderTest, GoesBackToTheCheckpointBefore) {
  const FolderContent content = interrupted({"plain", {}});
  const auto whole = resume_after(content, kLeaveIt);
  ASSERT_TRUE(whole.ok());
  for (const char* line : {"", "{}", "{\"round\": 1}", "{\"round\":\n2}", "[[[["}) {
    const auto summary = resume_after(content, [&](const std::filesystem::path& run) {
      const auto files = list_checkpoints(run / "checkpoint");
      ASSERT_EQ(files.size(), 2u);
      auto checkpoint = read_checkpoint(files.front());
      ASSERT_TRUE(checkpoint.ok());
      checkpoint->put_string("last-line", line);
      ASSERT_TRUE(write_checkpoint(run / "checkpoint", *checkpoint).ok());
    });
    ASSERT_TRUE(summary.ok()) << summary.error().message;
    EXPECT_EQ(summary->signature, whole->signature);
    EXPECT_EQ(lines(summary->dir / "rounds.jsonl").size(), 4u) << line;
  }
}

// Names of folders may hold any bytes; records are text all the same.
TEST_F(HostileFolderTest, RecordsAreTextWhateverTheFolderIsCalled) {
  SimulationOptions o = options();
  o.out = folder_ / "r\xff\xfeuns";
  const auto summary = simulate(recipe_of({kTiny, kCompositions[16].settings}), o);
  ASSERT_TRUE(summary.ok()) << summary.error().message;
  for (const char* file : {"rounds.jsonl", "groups.jsonl", "summary.json"}) {
    EXPECT_FALSE(lines(summary->dir / file).empty()) << file;  // throws on what is not UTF-8
  }
  const auto resumed = resume(summary->dir.string(), {"rounds=5"}, o);
  ASSERT_TRUE(resumed.ok()) << resumed.error().message;
  EXPECT_EQ(resumed->rounds, 5u);
}

}  // namespace
}  // namespace muster
