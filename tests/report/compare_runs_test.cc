#include "report/compare_runs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "recorded_run.h"
#include "report/comparison_file.h"
#include "report/report_text.h"

namespace muster {
namespace {

using Json = nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;

// Folders of runs: (recipe's epochs, seed, the accuracy of each round).
struct SomeRuns {
  ScratchFolder scratch;
  std::vector<std::filesystem::path> folders;

  void add(int epochs, int seed, const std::vector<double>& accuracies, bool done = true) {
    const std::filesystem::path folder = scratch / fmt::format("run-{}", folders.size());
    std::filesystem::create_directories(folder);
    std::ofstream(folder / "recipe.toml")
        << fmt::format("name = \"mine\"\nrounds = 3\nseed = {}\n[local]\nepochs = {}\n", seed, epochs);
    std::ofstream rounds(folder / "rounds.jsonl");
    for (std::size_t i = 0; i < accuracies.size(); ++i) {
      rounds << Json{{"round", i + 1},
                     {"accuracy", accuracies[i]},
                     {"loss", 1 - accuracies[i]},
                     {"bytes_up", 1'000'000},
                     {"bytes_down", 0},
                     {"cost_total_s", 5.0 * static_cast<double>(i + 1)}}
                    .dump()
             << "\n";
    }
    if (done) {
      std::ofstream(folder / "summary.json") << Json{
          {"stopped", "rounds"},
          {"signature", "00"},
          {"accuracy", {{"last", accuracies.back()}, {"best", accuracies.back()}}},
          {"time",
           {{"wall_s", 2.0}, {"train_s", 1.5}}}}.dump();
    }
    folders.push_back(folder);
  }
};

TEST(DescribeComparison, DrawsMeansWithBands) {
  SomeRuns runs;
  runs.add(1, 1, {0.2, 0.4, 0.6});
  runs.add(1, 2, {0.4, 0.6, 0.8});
  runs.add(2, 1, {0.3, 0.3, 0.5});
  const auto described = describe_comparison(runs.folders);
  ASSERT_TRUE(described.ok()) << described.error().message;
  EXPECT_EQ((*described)["kind"], "comparison");
  const Json accuracy = figure_in(*described, "accuracy");
  ASSERT_EQ(accuracy["series"].size(), 2u);
  EXPECT_EQ(accuracy["series"][0]["name"], "mine (local.epochs=1) (2 runs)");
  EXPECT_EQ(accuracy["series"][0]["y"], Json({0.3, 0.5, 0.7}));
  // The sample deviation of 0.2 and 0.4 is 0.141421.
  EXPECT_EQ(accuracy["series"][0]["low"], Json({0.158579, 0.358579, 0.558579}));
  EXPECT_EQ(accuracy["series"][0]["high"], Json({0.441421, 0.641421, 0.841421}));
  EXPECT_FALSE(accuracy["series"][1].contains("low"));
  EXPECT_EQ(accuracy["series"][1]["name"], "mine (local.epochs=2) (1 run)");
  // Of one seed both have a run: 0.5 against 0.6.
  const Json differences = figure_in(*described, "outcome-3");
  EXPECT_EQ(differences["rows"][0][1], "-10.00");
  EXPECT_EQ(differences["rows"][0][2], "0 of 1");
  const Json keys = figure_in(*described, "different-keys");
  EXPECT_EQ(keys["rows"], Json({{"local.epochs", "1", "2"}}));
  EXPECT_EQ(figure_in(*described, "runs")["rows"].size(), 3u);
}

TEST(DescribeComparison, TakesRunsThatGoOn) {
  SomeRuns runs;
  runs.add(1, 1, {0.2, 0.4});
  runs.add(1, 2, {0.4}, false);
  runs.add(1, 3, {}, false);
  const auto described = describe_comparison(runs.folders);
  ASSERT_TRUE(described.ok());
  // Of three runs one has round 2: too few for a mean.
  EXPECT_EQ(figure_in(*described, "accuracy")["series"][0]["y"], Json({0.3}));
  EXPECT_THAT((*described)["notes"].dump(), HasSubstr("run-1: unfinished"));
}

TEST(DescribeComparison, OfOneRunIsThatRun) {
  SomeRuns runs;
  runs.add(1, 1, {0.2});
  EXPECT_EQ((*describe_comparison(runs.folders))["kind"], "run");
  EXPECT_FALSE(describe_comparison({}).ok());
}

TEST(ComparisonFile, ListsTheRunsOfAComparison) {
  SomeRuns runs;
  runs.add(1, 1, {0.2, 0.4});
  runs.add(2, 1, {0.3, 0.5});
  std::vector<RunRecords> read;
  for (const auto& folder : runs.folders) read.push_back(*read_run_records(folder));
  const ComparisonTable table =
      table_of(by_method(std::move(read)), {.command = "muster compare a 'b c'", .targets = {0.3}, .tail = 3});
  const auto file = write_comparison(runs.scratch.path(), table);
  ASSERT_TRUE(file.ok());
  EXPECT_THAT(file->filename().string(), HasSubstr("compare-mine--local.epochs-1--mine--local.epochs-2--"));
  const auto compared = read_comparison(*file);
  ASSERT_TRUE(compared.ok()) << compared.error().message;
  ASSERT_EQ(compared->methods.size(), 2u);
  EXPECT_EQ(compared->methods[1].label, "mine (local.epochs=2)");
  EXPECT_THAT(compared->methods[1].folders, ElementsAre(runs.folders[1]));
  EXPECT_THAT(compared->targets, ElementsAre(0.3));
  // Who sees the page alone knows how to make it again, and what the figures are of.
  const Report report = report_of(*compared, *read_methods(*compared));
  EXPECT_THAT(to_json(report)["facts"].dump(), HasSubstr("muster compare a 'b c'"));
  for (const Figure& figure : report.sections.front().figures) EXPECT_NE(figure.caption, "") << figure.title;
  EXPECT_THAT(report.sections.front().figures.front().caption, HasSubstr("the last 3 evaluations"));
}

TEST(ComparisonFile, RefusesWhatIsNone) {
  const ScratchFolder scratch;
  const auto refused = [&](const std::string& content, const std::string& why) {
    const auto read = read_comparison(scratch.write("c.json", content));
    ASSERT_FALSE(read.ok()) << content;
    EXPECT_THAT(read.error().message, HasSubstr(why));
  };
  refused("", "not JSON");
  refused("[]", "lists no runs");
  refused(R"({"methods":[{"method":"a","runs":[]}]})", "lists no runs");
  refused(R"({"methods":[{"method":"a","runs":["../../etc"]}]})", "no folder's name");
  refused(R"({"methods":[{"method":"a","runs":[".."]}]})", "no folder's name");
  refused(R"({"methods":[{"method":"a","runs":[7]}]})", "no folder's name");
}

TEST(ReportText, WritesTablesAndRounds) {
  SomeRuns runs;
  runs.add(1, 1, {0.25, 0.5});
  runs.add(2, 1, {0.3, 0.7});
  std::vector<RunRecords> read;
  for (const auto& folder : runs.folders) read.push_back(*read_run_records(folder));
  read[0].recipe_name = "a_b|<c>";
  const auto methods = by_method(std::move(read));
  const Report report = report_of("a_b|<c>", methods);
  const std::string markdown = to_markdown(report);
  EXPECT_THAT(markdown, HasSubstr("# a\\_b\\|\\<c\\>\n"));
  EXPECT_THAT(markdown, HasSubstr("| round | a\\_b\\|\\<c\\> (1 run) | mine (1 run) |\n"));
  EXPECT_THAT(markdown, HasSubstr("| 2 | 50.00 % | 70.00 % |\n"));
  const std::string with_plots = to_markdown(report, "plots");
  EXPECT_THAT(with_plots, HasSubstr("![accuracy-by-bytes](<plots/accuracy-by-bytes.svg>)"));
  const std::string latex = to_latex(report);
  EXPECT_THAT(latex, HasSubstr("a\\_b\\textbar{}\\textless{}c\\textgreater{} & 50.00 & 50.00"));
  const std::string csv = rounds_csv(methods);
  EXPECT_THAT(csv, HasSubstr("run,method,seed,round,accuracy,loss,"));
  EXPECT_THAT(csv, HasSubstr("run-0,a_b|<c>,1,2,0.5,0.5,,"));
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 5);
}

}  // namespace
}  // namespace muster
