// What a comparison says of runs whose records are known: means, targets, differences, and how they are written.
#include "engine/comparison_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "data/wrapped_text.h"
#include "engine/comparison_json.h"
#include "engine/comparison_text.h"

namespace muster {
namespace {

using testing::HasSubstr;

// Evaluated every round, 100 bytes and half a second each.
RunCurve curve(std::vector<double> accuracies, const std::string& stopped = "rounds") {
  RunCurve run{.run = "id", .signature = "0", .stopped = stopped, .wall_s = 2};
  for (const double accuracy : accuracies) {
    const std::uint32_t round = ++run.rounds;
    run.evaluations.push_back({.round = round, .accuracy = accuracy, .bytes = 100u * round, .cost_s = 0.5 * round});
    run.accuracy_last = accuracy;
    run.accuracy_best = std::max(run.accuracy_best.value_or(0), accuracy);
  }
  return run;
}

ComparedRow row(const std::string& label, std::vector<RunCurve> runs) {
  return {.label = label, .points = {{.settings = {}, .runs = std::move(runs)}}};
}

Comparison two_methods() {
  Comparison comparison{.seeds = {1, 2, 3}};
  comparison.rows.push_back(row("a", {curve({0.2, 0.6}), curve({0.4, 0.5}), curve({0.1, 0.4})}));
  comparison.rows.push_back(row("b", {curve({0.5, 0.7}), curve({0.5, 0.4}), curve({0.6, 0.6})}));
  return comparison;
}

TEST(SeedSpread, IsMeanAndDeviationOfTheSample) {
  const SeedSpread spread = spread_of({2.0, 4.0, std::nullopt, 9.0});
  EXPECT_EQ(spread.seeds, 3u);
  EXPECT_DOUBLE_EQ(*spread.mean, 5.0);
  EXPECT_DOUBLE_EQ(*spread.deviation, std::sqrt(13.0));
  EXPECT_FALSE(spread_of(std::vector<std::optional<double>>{1.0}).deviation) << "one seed deviates from nothing";
  EXPECT_FALSE(spread_of({std::nullopt}).mean);
}

TEST(SignTest, KnownNumbers) {
  EXPECT_DOUBLE_EQ(sign_test(3, 0), 0.25);
  EXPECT_DOUBLE_EQ(sign_test(0, 3), 0.25);
  EXPECT_NEAR(sign_test(9, 1), 0.0215, 5e-5);
  EXPECT_DOUBLE_EQ(sign_test(9, 1), 22.0 / 1024);
  EXPECT_DOUBLE_EQ(sign_test(1, 1), 1.0) << "not 1.5";
  EXPECT_DOUBLE_EQ(sign_test(5, 0), 2.0 / 32);
  EXPECT_NEAR(sign_test(1000, 1000), 1.0, 1e-9) << "2^-2000 is not a double";
}

TEST(PairedDifference, TiesAndMissingSeedsAreLeftOut) {
  const std::vector<std::optional<double>> a{0.5, 0.6, 0.7, std::nullopt, 0.2};
  const std::vector<std::optional<double>> b{0.4, 0.6, 0.8, 0.9, 0.1};
  const PairedDifference d = paired_difference(a, b);
  EXPECT_EQ(d.pairs, 4u);
  EXPECT_EQ(d.better, 2u);
  EXPECT_EQ(d.worse, 1u);
  EXPECT_NEAR(*d.mean, 0.025, 1e-12);
  EXPECT_DOUBLE_EQ(*d.p, 1.0);
  EXPECT_FALSE(paired_difference(a, a).p) << "nothing but ties";
  EXPECT_FALSE(paired_difference({}, {}).mean);
}

TEST(ComparisonTable, SumsUpSeeds) {
  const ComparisonTable table = tabulate(two_methods(), {.task = "t", .targets = {0.55, 0.4}, .tail = 1});
  const MethodFigures& a = table.methods[0];
  EXPECT_DOUBLE_EQ(*a.last.mean, 0.5);
  EXPECT_NEAR(*a.last.deviation, 0.1, 1e-12);
  EXPECT_NEAR(*table.methods[1].best.mean, (0.7 + 0.5 + 0.6) / 3, 1e-12);
  EXPECT_DOUBLE_EQ(*a.wall_s.mean, 2.0);
  const ComparisonTable two = tabulate(two_methods(), {.targets = {0.4}, .tail = 2});
  EXPECT_NEAR(*two.methods[0].tail.mean, (0.4 + 0.45 + 0.25) / 3, 1e-12);
}

TEST(ComparisonTable, CountsWhatATargetTookWhereItWasReached) {
  const ComparisonTable table = tabulate(two_methods(), {.targets = {0.55, 0.4}, .tail = 1});
  ASSERT_EQ(table.methods[0].to_target.size(), 2u);
  const TargetFigures& low = table.methods[0].to_target[0];
  EXPECT_DOUBLE_EQ(low.accuracy, 0.4) << "ascending";
  EXPECT_EQ(low.reached, 3u);
  EXPECT_NEAR(*low.rounds.mean, (2 + 1 + 2) / 3.0, 1e-12);
  EXPECT_NEAR(*low.bytes.mean, 500 / 3.0, 1e-9);
  EXPECT_NEAR(*low.cost_s.mean, 2.5 / 3, 1e-12);
  const TargetFigures& high = table.methods[0].to_target[1];
  EXPECT_EQ(high.reached, 1u);
  EXPECT_DOUBLE_EQ(*high.rounds.mean, 2);
  EXPECT_FALSE(high.rounds.deviation);
  EXPECT_THAT(to_plain_text(table), HasSubstr("in 1 of 3"));
}

TEST(ComparisonTable, AnAccuracyOfSomeClientsReachesNoTarget) {
  Comparison comparison{.seeds = {1}};
  comparison.rows.push_back(row("a", {curve({0.9, 0.9})}));
  comparison.rows[0].points[0].runs[0].evaluations[0].of_all = false;
  const ComparisonTable table = tabulate(comparison, {.targets = {0.5}, .tail = 1});
  EXPECT_DOUBLE_EQ(*table.methods[0].to_target[0].rounds.mean, 2);
}

TEST(ComparisonTable, TargetsComeFromTheFirstMethod) {
  const ComparisonTable table = tabulate(two_methods(), {.tail = 1});
  std::vector<double> targets;
  for (const TargetFigures& target : table.methods[1].to_target) targets.push_back(target.accuracy);
  EXPECT_THAT(targets, testing::ElementsAre(testing::DoubleNear(0.25, 1e-9), testing::DoubleNear(0.4, 1e-9),
                                            testing::DoubleNear(0.475, 1e-9), testing::DoubleNear(0.5, 1e-9)));
  EXPECT_THAT(table.notes, testing::Contains(HasSubstr("last accuracy of a, 50.00 %")));
}

TEST(ComparisonTable, TheFirstMethodIsWhatOthersAreComparedWith) {
  const ComparisonTable table = tabulate(two_methods(), {.targets = {0.4}, .tail = 1});
  ASSERT_EQ(table.differences.size(), 1u);
  EXPECT_EQ(table.differences[0].a, "b");
  EXPECT_EQ(table.differences[0].b, "a");
  EXPECT_NEAR(*table.differences[0].of_last.mean, (0.1 - 0.1 + 0.2) / 3, 1e-12);
  EXPECT_EQ(table.differences[0].of_last.better, 2u);
}

TEST(ComparisonTable, MarksWhatDiverged) {
  Comparison comparison = two_methods();
  comparison.rows[1].points[0].runs[0] = curve({0.1}, "diverged");
  comparison.rows[1].points[0].runs[1] = curve({}, "diverged");
  const ComparisonTable table = tabulate(comparison, {.targets = {0.4}, .tail = 1});
  EXPECT_EQ(table.methods[1].diverged, 2u);
  EXPECT_EQ(table.methods[1].last.seeds, 2u) << "one of them was never evaluated";
  EXPECT_THAT(to_plain_text(table), HasSubstr("b (2 of 3 diverged)"));
  EXPECT_EQ(nlohmann::json::parse(to_json(table))["methods"][1]["diverged"], 2);
}

TEST(ComparisonTable, AMethodWithoutAnyAccuracyIsNotANumber) {
  Comparison comparison{.seeds = {1}};
  comparison.rows.push_back(row("a", {curve({})}));
  const ComparisonTable table = tabulate(comparison, {.tail = 1});
  EXPECT_THAT(to_plain_text(table), HasSubstr("n/a"));
  EXPECT_TRUE(nlohmann::json::parse(to_json(table))["methods"][0]["accuracy"]["last_mean"].is_null());
}

TEST(Grid, TheBestPointIsChosenOnValidationWhereTheTestWouldChooseAnother) {
  std::vector<ComparedPoint> points(3);
  points[0] = {.settings = {"k=1"}, .runs = {curve({0.9})}, .validation = 0.5};
  points[1] = {.settings = {"k=2"}, .runs = {curve({0.6})}, .validation = 0.7};
  points[2] = {.settings = {"k=3"}, .runs = {curve({0.8})}, .validation = 0.7};
  EXPECT_EQ(best_point(points), 1u) << "the first of two that are as good";
  points[1].validation.reset();
  EXPECT_EQ(best_point(points), 2u);
  Comparison comparison{.seeds = {1}};
  comparison.rows.push_back({.label = "a", .points = points, .chosen = best_point(points)});
  const ComparisonTable table = tabulate(comparison, {.targets = {0.5}, .tail = 1});
  EXPECT_EQ(table.methods[0].settings, std::vector<std::string>{"k=3"});
  EXPECT_DOUBLE_EQ(*table.methods[0].last.mean, 0.8);
  const auto json = nlohmann::json::parse(to_json(table));
  EXPECT_EQ(json["methods"][0]["settings"]["k"], 3);
  EXPECT_EQ(json["methods"][0]["grid"].size(), 3u);
  EXPECT_THAT(to_plain_text(table), HasSubstr("k=3"));
}

TEST(ComparisonTextOf, LatexEscapesWhatTexWouldTakeForCommands) {
  EXPECT_EQ(latex_text("a_b&c%d$e#f{g}"), "a\\_b\\&c\\%d\\$e\\#f\\{g\\}");
  EXPECT_EQ(latex_text("\\input~^"), "\\textbackslash{}input\\textasciitilde{}\\textasciicircum{}");
  EXPECT_EQ(latex_text("1 ± 2\n"), "1 $\\pm$ 2\\textbackslash{}n");
  EXPECT_EQ(latex_text("<a|b>\x1b\xff"),
            "\\textless{}a\\textbar{}b\\textgreater{}\\textbackslash{}x1b\\textbackslash{}xff");
  Comparison comparison = two_methods();
  comparison.rows[0].label = "50%_done & \\more";
  const std::string latex = to_latex(tabulate(comparison, {.targets = {0.4}, .tail = 1}));
  EXPECT_THAT(latex, HasSubstr("50\\%\\_done \\& \\textbackslash{}more & 50.00 $\\pm$ 10.00"));
}

TEST(ComparisonTextOf, CsvQuotesAndKeepsAllDigits) {
  Comparison comparison = two_methods();
  comparison.rows[0].label = "with, \"quotes\"";
  const std::string csv = to_csv(tabulate(comparison, {.targets = {0.4}, .tail = 1}));
  EXPECT_THAT(csv, HasSubstr("\n\"with, \"\"quotes\"\"\",,3,0,0.5,"));
  EXPECT_THAT(csv, HasSubstr("reached_to_0.4"));
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 3);
  const auto columns = [](const std::string& line) { return std::count(line.begin(), line.end(), ','); };
  const std::size_t end = csv.find('\n');
  EXPECT_EQ(columns(csv.substr(0, end)), columns(csv.substr(csv.rfind('\n', csv.size() - 2))));
}

TEST(ComparisonTextOf, MarkdownKeepsItsColumns) {
  Comparison comparison = two_methods();
  comparison.rows[0].label = "a|b";
  EXPECT_THAT(to_markdown(tabulate(comparison, {.targets = {0.4}, .tail = 1})), HasSubstr("| a\\|b |"));
}

// Whatever the methods are called, the table fits a terminal, and no letter of a name is lost.
TEST(ComparisonText, IsAsWideAsATerminal) {
  for (const std::string& label : {std::string("fedprox+local.mu=0.1+local.epochs=5+plan.sample-clients=0.25"),
                                   std::string(300, 'x'), std::string("東京 大阪 名古屋 東京 大阪 名古屋 東京 大阪")}) {
    Comparison comparison{.seeds = {1, 2}};
    for (const std::string& name : {label, label + "-b"}) {
      ComparedPoint point{.settings = {"local.learning-rate=0.0123456789", "local.momentum=0.987654321"}, .runs = {}};
      for (const double accuracy : {0.5, 0.75}) point.runs.push_back(curve({accuracy}));
      comparison.rows.push_back({.label = name, .points = {point}});
    }
    comparison.notes = {"a note that is longer than a line of a terminal of eighty columns is, by quite a few words"};
    const ComparisonTable table = tabulate(comparison, {.task = label, .targets = {0.4}, .tail = 1});
    std::istringstream lines(to_plain_text(table));
    std::string together;
    for (std::string line; std::getline(lines, line);) {
      EXPECT_LE(shown_columns(line), kTerminalColumns) << line;
      together += line.substr(0, line.find("  "));
    }
    std::erase(together, ' ');
    std::string whole = label + "-b";
    std::erase(whole, ' ');
    EXPECT_THAT(together, HasSubstr(whole));
  }
}

}  // namespace
}  // namespace muster
