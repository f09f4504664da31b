// Runs side by side and the comparison made of them: the same as alone, on the same data and initial model, not twice,
// and not lost when interrupted.
#include "engine/comparison.h"

#include <gmock/gmock.h>

#include <atomic>

#include "engine/comparison_grid.h"
#include "engine/known_runs.h"
#include "small_run.h"

namespace muster {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;

std::string slurp(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

class ComparisonTest : public SimulationTest {
 protected:
  static ComparisonRow row(const std::string& label, const Settings& settings = {}) {
    return {.label = label, .recipe = small(settings)};
  }
  static std::vector<ComparisonRow> three() {
    return {row("plain"), row("prox", {"local.objective=prox", "local.mu=0.5"}),
            row("control", {"local.objective=control-variate", "aggregation.global=control-variate"})};
  }
  ComparisonOptions options_for(std::vector<std::uint64_t> seeds, std::uint32_t threads = 2) {
    ComparisonOptions o{.seeds = std::move(seeds)};
    o.sweep.threads = threads;
    o.sweep.out = folder_.path() / "compared";
    o.sweep.quiet = true;
    o.sweep.say = [this](const std::string& note) { said_.push_back(note); };
    return o;
  }
  Comparison compared(std::vector<ComparisonRow> rows, const ComparisonOptions& options) {
    Result<Comparison> result = run_comparison(std::move(rows), options);
    EXPECT_TRUE(result.ok()) << result.error().message;
    return result.ok() ? std::move(*result) : Comparison{};
  }
  std::string error_of(std::vector<ComparisonRow> rows, const ComparisonOptions& options) {
    const Result<Comparison> result = run_comparison(std::move(rows), options);
    EXPECT_FALSE(result.ok());
    return result.ok() ? std::string() : result.error().message;
  }
  std::size_t folders() const {
    std::error_code none;
    std::size_t count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path() / "compared", none)) {
      count += entry.is_directory() ? 1 : 0;
    }
    return count;
  }

  std::vector<std::string> said_;
};

TEST_F(ComparisonTest, EveryRunIsWhatItIsAlone) {
  const std::vector<ComparisonRow> rows = three();
  std::vector<RunSummary> alone;  // rows slowest
  for (const ComparisonRow& one : rows) {
    for (const std::uint64_t seed : {1, 2}) {
      Recipe recipe = one.recipe;
      recipe.seed = seed;
      alone.push_back(run(recipe));
    }
  }
  for (const std::uint32_t threads : {1u, 2u, 5u}) {
    ComparisonOptions options = options_for({1, 2}, threads);
    options.sweep.out = folder_.path() / std::to_string(threads);
    const Comparison comparison = compared(rows, options);
    ASSERT_EQ(comparison.rows.size(), 3u);
    EXPECT_EQ(comparison.ran, 6u);
    for (std::size_t i = 0; i < alone.size(); ++i) {
      const RunCurve& beside = comparison.rows[i / 2].best().runs[i % 2];
      EXPECT_EQ(beside.signature, alone[i].signature) << rows[i / 2].label << ", seed " << i % 2 + 1;
      EXPECT_EQ(beside.accuracy_last, alone[i].accuracy_last);
      EXPECT_EQ(beside.accuracy_best, alone[i].accuracy_best);
      EXPECT_EQ(slurp(beside.dir / "recipe.toml"), slurp(alone[i].dir / "recipe.toml"));
      EXPECT_EQ(beside.evaluations.back().bytes, alone[i].bytes_up + alone[i].bytes_down);
    }
  }
}

TEST_F(ComparisonTest, ASeedMeansOnePartitionAndOneInitialModelForAll) {
  std::vector<ComparisonRow> rows = three();
  rows.push_back(row("prox at nothing", {"local.objective=prox", "local.mu=0"}));
  const Comparison comparison = compared(rows, options_for({1, 2}));
  // Who the clients are and how many samples each has, without what training made of it.
  const auto partition = [](const RunCurve& run) {
    std::ifstream lines(run.dir / "clients.csv");
    std::string counts;
    for (std::string line; std::getline(lines, line);) {
      std::istringstream cells(line);
      std::string number, name, samples;
      std::getline(cells, number, ',');
      std::getline(cells, name, ',');
      std::getline(cells, samples, ',');
      counts += number + ":" + samples + ":" + line.substr(line.rfind(',')) + "\n";
    }
    return counts;
  };
  const std::vector<RunCurve>& first = comparison.rows[0].best().runs;
  EXPECT_EQ(first[0].initial_model.size(), 16u);
  EXPECT_NE(first[0].initial_model, first[1].initial_model);
  EXPECT_NE(partition(first[0]), partition(first[1]));
  for (const ComparedRow& one : comparison.rows) {
    for (std::size_t s = 0; s < 2; ++s) {
      EXPECT_EQ(one.best().runs[s].initial_model, first[s].initial_model) << one.label;
      EXPECT_EQ(partition(one.best().runs[s]), partition(first[s])) << one.label;
    }
  }
  // Not only as many samples but the same ones: without its term the proximal objective ends where the plain one does.
  EXPECT_EQ(comparison.rows[3].best().runs[0].signature, first[0].signature);
}

TEST_F(ComparisonTest, FinishedRunsAreNotRunAgain) {
  const Comparison first = compared(three(), options_for({1, 2}));
  const std::size_t before = folders();
  EXPECT_EQ(before, 6u);
  const std::filesystem::path dir = first.rows[0].best().runs[0].dir;
  EXPECT_THAT(dir.filename().string(), testing::MatchesRegex("plain-s1-[0-9a-f]+"));
  // Found by the recipe, not by the name.
  std::filesystem::rename(dir, folder_.path() / "compared" / "renamed");
  const Comparison second = compared(three(), options_for({2, 1}));
  EXPECT_EQ(second.ran, 0u);
  EXPECT_EQ(folders(), before);
  EXPECT_EQ(second.rows[0].best().runs[1].run, "renamed");
  EXPECT_EQ(second.rows[0].best().runs[1].signature, first.rows[0].best().runs[0].signature);
  // One more seed, and another number of rounds, are other runs.
  EXPECT_EQ(compared(three(), options_for({1, 2, 3})).ran, 3u);
  std::vector<ComparisonRow> longer = three();
  for (ComparisonRow& one : longer) one.recipe.rounds = 7;
  EXPECT_EQ(compared(longer, options_for({1})).ran, 3u);
}

TEST_F(ComparisonTest, WhatIsInterruptedGoesOnAndEndsAsIfItHadNotBeen) {
  std::vector<ComparisonRow> rows = three();
  for (ComparisonRow& one : rows) one.recipe.rounds = 10;
  const Comparison whole = compared(rows, options_for({1, 2}));
  for (const std::uint32_t after : {1u, 9u, 30u}) {
    ComparisonOptions options = options_for({1, 2});
    options.sweep.out = folder_.path() / fmt::format("cut-{}", after);
    std::atomic<bool> interrupt{false};
    std::atomic<std::uint32_t> rounds{0};
    // Progress asks for the time after every round.
    options.sweep.quiet = false;
    options.sweep.progress = {.write = [](std::string_view) {},
                              .seconds =
                                  [&] {
                                    if (++rounds == after + 1) interrupt = true;
                                    return 0.0;
                                  },
                              .width = [] { return 80u; }};
    options.sweep.interrupt = &interrupt;
    const Comparison cut = compared(rows, options);
    EXPECT_TRUE(cut.interrupted) << after;
    EXPECT_TRUE(cut.rows.empty());
    EXPECT_LT(cut.finished_runs, 6u);
    if (after == 1) {
      EXPECT_EQ(cut.finished_runs, 0u) << "those that had begun stop after their round";
    }
    interrupt = false;
    const Comparison rest = compared(rows, options);
    ASSERT_FALSE(rest.interrupted) << after;
    EXPECT_EQ(rest.ran, 6 - cut.finished_runs);
    std::size_t made = 0;
    for (const auto& entry : std::filesystem::directory_iterator(options.sweep.out)) made += entry.is_directory();
    EXPECT_EQ(made, 6u) << "what was begun is gone on with, not begun again";
    for (std::size_t r = 0; r < rows.size(); ++r) {
      for (std::size_t s = 0; s < 2; ++s) {
        EXPECT_EQ(rest.rows[r].best().runs[s].signature, whole.rows[r].best().runs[s].signature);
      }
    }
  }
}

TEST_F(ComparisonTest, TornAndForeignFoldersAreSaidAndLeftAlone) {
  const Comparison first = compared({row("plain")}, options_for({1}));
  const std::filesystem::path dir = first.rows[0].best().runs[0].dir;
  // The end of its records is lost.
  const std::string lines = slurp(dir / "rounds.jsonl");
  std::ofstream(dir / "rounds.jsonl", std::ios::trunc) << lines.substr(0, lines.size() / 2);
  const std::string torn = slurp(dir / "rounds.jsonl");
  const Comparison second = compared({row("plain")}, options_for({1}));
  EXPECT_EQ(second.ran, 1u);
  EXPECT_NE(second.rows[0].best().runs[0].dir, dir);
  EXPECT_EQ(second.rows[0].best().runs[0].signature, first.rows[0].best().runs[0].signature);
  EXPECT_EQ(slurp(dir / "rounds.jsonl"), torn);
  EXPECT_THAT(said_, Contains(AllOf(HasSubstr("rounds.jsonl"), HasSubstr("left alone"))));
  // Something else has the name that the run would have.
  const std::string name = dir.filename().string();
  std::filesystem::remove_all(folder_.path() / "compared");
  std::filesystem::create_directories(dir);
  std::ofstream(dir / "recipe.toml") << "name = \"other\"\n";
  said_.clear();
  const Comparison third = compared({row("plain")}, options_for({1}));
  EXPECT_EQ(third.rows[0].best().runs[0].run, name + "-2");
  EXPECT_EQ(slurp(dir / "recipe.toml"), "name = \"other\"\n");
  EXPECT_THAT(said_, Contains(AllOf(HasSubstr(name), HasSubstr("left alone"))));
}

TEST_F(ComparisonTest, ARunThatNeverGotToACheckpointOrWhoseCheckpointIsBrokenIsNotLost) {
  ComparisonOptions options = options_for({1});
  const Comparison whole = compared({row("plain")}, options);
  const std::filesystem::path dir = whole.rows[0].best().runs[0].dir;
  std::filesystem::remove(dir / "summary.json");
  for (const auto& entry : std::filesystem::directory_iterator(dir / "checkpoint")) {
    std::ofstream(entry.path(), std::ios::trunc) << "torn";
  }
  const Comparison again = compared({row("plain")}, options);
  EXPECT_EQ(again.rows[0].best().runs[0].signature, whole.rows[0].best().runs[0].signature);
  EXPECT_NE(again.rows[0].best().runs[0].dir, dir);
  EXPECT_THAT(said_, Contains(HasSubstr("left alone")));
}

TEST_F(ComparisonTest, AnotherTaskIsRefusedWithBothValuesBeforeAnythingRuns) {
  EXPECT_EQ(error_of({row("a"), row("b"), row("c", {"local.learning-rate=0.2"})}, options_for({1})),
            "c: local.learning-rate is 0.2, but 0.1 for a; every method needs the same task: give --task, or --set "
            "local.learning-rate for all");
  EXPECT_THAT(error_of({row("a"), row("b", {"data.alpha=0.3"})}, options_for({1})),
              AllOf(HasSubstr("b: data.alpha is 0.3"), HasSubstr("not set for a")));
  EXPECT_EQ(folders(), 0u);
  ComparisonRow on_purpose = row("b", {"local.epochs=2"});
  EXPECT_THAT(error_of({row("a"), on_purpose}, options_for({1})), HasSubstr("local.epochs is 2"));
  on_purpose.own_keys = {"local.epochs"};
  compared({row("a"), on_purpose}, options_for({1}));
}

TEST_F(ComparisonTest, MethodsThatDoNotShareDataAreOfOneTaskToo) {
  // Exemplars are the method's; they come out of the tests, so the data are not the very same.
  const auto built_in = [](const std::string& name, const Settings& settings) {
    Result<Recipe> recipe = load_recipe(name);
    EXPECT_TRUE(recipe.ok()) << recipe.error().message;
    for (const Settings& list :
         {Settings{"data.source=blobs", "data.clients=20", "model.name=softmax", "rounds=1"}, settings}) {
      for (const std::string& setting : list) EXPECT_TRUE(apply_setting(*recipe, setting).ok()) << setting;
    }
    return ComparisonRow{.label = name, .recipe = std::move(*recipe)};
  };
  EXPECT_EQ(compared({built_in("fedavg", {}), built_in("fedseq", {})}, options_for({1})).ran, 2u);
  EXPECT_THAT(error_of({built_in("fedavg", {}), built_in("fedseq", {"data.clients=21"})}, options_for({1})),
              HasSubstr("fedseq: data.clients is 21, but 20 for fedavg"));
}

TEST_F(ComparisonTest, ADataSeedMakesOneSplitOfAllSeeds) {
  const ComparisonRow one = {.label = "a", .recipe = images({"data.seed=5"})};
  const Comparison comparison = compared({one}, options_for({1, 2}));
  EXPECT_EQ(comparison.ran, 2u);
  EXPECT_NE(comparison.rows[0].best().runs[0].signature, comparison.rows[0].best().runs[1].signature);
}

TEST_F(ComparisonTest, LabelsAreUniqueAndErrorsNameTheRow) {
  EXPECT_THAT(error_of({row("a"), row("a")}, options_for({1})), HasSubstr("a: given twice"));
  EXPECT_THAT(error_of({row("a"), row("b", {"local.mu=0.5"})}, options_for({1})),
              AllOf(testing::StartsWith("b: "), HasSubstr("local.mu")));
}

TEST_F(ComparisonTest, AFailingRunNamesItselfAndTheOthersSave) {
  const auto file = folder_.path() / "compared";
  std::ofstream(file) << "in the way";
  EXPECT_THAT(error_of({row("a"), row("b")}, options_for({7})), AllOf(HasSubstr("seed 7"), HasSubstr("compared")));
}

TEST_F(ComparisonTest, OneDivergedRunIsAResult) {
  const Comparison comparison =
      compared({row("a"), row("wild", {"local.objective=prox", "local.mu=1e30"})}, options_for({1}));
  ASSERT_EQ(comparison.rows.size(), 2u);
  EXPECT_EQ(comparison.rows[1].best().runs[0].stopped, "diverged");
  EXPECT_EQ(comparison.rows[0].best().runs[0].stopped, "rounds");
}

TEST_F(ComparisonTest, TheSameRecipeUnderTwoNamesRunsOnce) {
  const Comparison comparison = compared({row("a"), row("b")}, options_for({1}));
  EXPECT_EQ(comparison.ran, 1u);
  EXPECT_EQ(comparison.rows[0].best().runs[0].run, comparison.rows[1].best().runs[0].run);
}

class GridTest : public ComparisonTest {
 protected:
  static GridKey key(const std::string& text) {
    const Result<GridKey> parsed = parse_grid_key(text);
    EXPECT_TRUE(parsed.ok()) << parsed.error().message;
    return parsed.ok() ? *parsed : GridKey{};
  }
  static ComparisonRow on_images(const std::string& label, const Settings& settings = {}) {
    return {.label = label, .recipe = images(settings)};
  }
};

TEST_F(GridTest, EveryPointOfTheProductIsRunWithEverySeed) {
  std::vector<ComparisonRow> rows{on_images("plain"), on_images("prox", {"local.objective=prox", "local.mu=0.5"})};
  for (ComparisonRow& one : rows) {
    one.grid = {key("local.learning-rate=0.0001,0.1"), key("local.mu=0.1,1")};
    one.recipe.rounds = 2;
  }
  const Comparison comparison = compared(rows, options_for({1, 2}));
  ASSERT_EQ(comparison.rows.size(), 2u);
  EXPECT_EQ(comparison.rows[0].points.size(), 2u) << "local.mu means nothing for it";
  EXPECT_EQ(comparison.rows[1].points.size(), 4u);
  EXPECT_EQ(comparison.ran, 2u * 6u);
  EXPECT_THAT(comparison.notes, Contains(AllOf(HasSubstr("plain: local.mu has no effect"), HasSubstr("left out"))));
  EXPECT_THAT(comparison.notes, Contains(HasSubstr("data.validation-fraction = 0.1 for every method")));
  EXPECT_EQ(comparison.rows[1].points[1].settings, (Settings{"local.learning-rate=0.0001", "local.mu=1"}));
  EXPECT_EQ(comparison.rows[0].best().settings, (Settings{"local.learning-rate=0.1"}));
  for (const ComparedPoint& point : comparison.rows[1].points) {
    ASSERT_TRUE(point.validation);
    double sum = 0;
    for (const RunCurve& run : point.runs) {
      EXPECT_THAT(slurp(run.dir / "recipe.toml"), HasSubstr("validation-fraction = 0.1"));
      const auto records = lines(run.dir / "rounds.jsonl");
      sum += records.back()["validation_accuracy"].get<double>();
    }
    EXPECT_DOUBLE_EQ(*point.validation, sum / 2);
    EXPECT_LE(*point.validation, *comparison.rows[1].best().validation);
  }
}

TEST_F(GridTest, ValidationIsOfTheModelsThatTheRunLeaves) {
  ComparisonRow one = on_images("best", {"data.validation-fraction=0.2", "evaluation.keep=best"});
  one.grid = {key("local.learning-rate=0.1,2")};
  const Comparison comparison = compared({one}, options_for({1}));
  EXPECT_THAT(comparison.notes, Not(Contains(HasSubstr("validation-fraction")))) << "the task has some";
  for (const ComparedPoint& point : comparison.rows[0].points) {
    const auto summary = nlohmann::json::parse(slurp(point.runs[0].dir / "summary.json"));
    EXPECT_DOUBLE_EQ(*point.validation, summary["validation"]["best"].get<double>());
  }
}

TEST_F(GridTest, KeysAreReadAndRefused) {
  EXPECT_EQ(key("plan.groups=[[1,2],[3,4]],5").values, (std::vector<std::string>{"[[1,2],[3,4]]", "5"}));
  const auto refused = [](const std::string& text) { return parse_grid_key(text).error().message; };
  EXPECT_THAT(refused("local.lr=1,2"), HasSubstr("did you mean 'local.learning-rate'?"));
  EXPECT_THAT(refused("data.alpha=1,2"), HasSubstr("every method must have the same data"));
  EXPECT_THAT(refused("rounds=1,2"), HasSubstr("rounds"));
  EXPECT_THAT(refused("seed=1,2"), HasSubstr("--seeds"));
  EXPECT_THAT(refused("local.mu"), HasSubstr("want section.key=a,b,c"));
  EXPECT_THAT(refused("local.mu=1,,2"), HasSubstr("an empty value"));
  EXPECT_THAT(refused("local.mu=1,1"), HasSubstr("1 is there twice"));
}

TEST(KnownRuns, TheNameDoesNotCountAndEverythingElseDoes) {
  Recipe one = small();
  Recipe other = small();
  other.name = "other";
  other.summary = "another one";
  EXPECT_EQ(recipe_hash(one), recipe_hash(other));
  other.model.name = "softmax";
  EXPECT_NE(recipe_hash(one), recipe_hash(other));
  other = small();
  other.seed = 2;
  EXPECT_NE(recipe_hash(one), recipe_hash(other));
}

}  // namespace
}  // namespace muster
