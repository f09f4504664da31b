// A target from its runs to its cells, on a federation of a few clients.
#include "engine/reproduction.h"

#include <cmath>
#include <fstream>

#include "engine/reproduction_text.h"
#include "scratch_folder.h"

namespace muster {
namespace {

using testing::AllOf;
using testing::HasSubstr;

const char* const kBlobSettings = R"(
[[setting]]
name = "blobs"
title = "Blobs"
reference = 2.0
[setting.keys]
rounds = 3
data.source = "blobs"
data.partition = "dirichlet"
data.clients = 20
data.samples-min = 20
data.samples-max = 40
local.learning-rate = 0.1
)";
const char* const kBlobTarget = R"(
title = "T"
says = "S"
settings = ["blobs"]
[[column]]
name = "accuracy"
unit = "%"
measure = "accuracy-last"
[[column]]
name = "size"
measure = "group-size-mean"
versus = "single"
as = "share"
digits = 0
[[column]]
name = "rounds"
measure = "rounds-to"
share = 0.5
[[row]]
name = "single"
method = "fedavg"
paper = [50.0, nan, 7]
[[row]]
name = "fours"
method = "naivegsp"
set = ["grouping.size=4"]
paper = [nan, 400, inf]
[[row]]
name = "missing"
method = "no-such-method"
[scale.smoke]
minutes = 1
seeds = [1, 2]
[scale.small]
minutes = 1
rows = ["single"]
[scale.full]
minutes = 1
)";

class ReproductionTest : public testing::Test {
 protected:
  Reproduction run(Scale scale) {
    const auto result = reproduce(target_, scale, options_);
    EXPECT_TRUE(result.ok()) << result.error().message;
    return result.ok() ? *result : Reproduction{};
  }
  static Target parsed() {
    auto target = parse_target({.name = "p-t", .toml = kBlobTarget}, {.name = "p", .toml = kBlobSettings});
    EXPECT_TRUE(target.ok()) << target.error().message;
    return std::move(target).value();
  }

  ScratchFolder scratch_;
  Target target_ = parsed();
  ReproductionOptions options_{.threads = 1, .out = scratch_.path(), .quiet = true};
};

TEST_F(ReproductionTest, PutsOursBesideThePapers) {
  const Reproduction result = run(Scale::kSmoke);
  ASSERT_EQ(result.cells.size(), 9u);
  EXPECT_EQ(result.all_runs, 4u);
  const auto& cell = [&](std::size_t row, std::size_t column) { return result.cells[3 * row + column]; };
  EXPECT_GT(cell(0, 0).ours, 10);
  EXPECT_TRUE(cell(0, 0).deviation.has_value()) << "of two seeds";
  EXPECT_EQ(cell(0, 0).paper, 50.0);
  EXPECT_DOUBLE_EQ(*difference(cell(0, 0)), *cell(0, 0).ours - 50);
  EXPECT_EQ(cell(0, 1).ours, 100);
  EXPECT_FALSE(cell(0, 1).paper.has_value());
  EXPECT_EQ(cell(1, 1).ours, 400) << "groups of four, as a share of single clients";
  EXPECT_GE(cell(0, 2).ours, 1) << "half of what the first row ends with";
  EXPECT_FALSE(difference(cell(0, 2)).has_value()) << "the paper's accuracy to reach is another";
  EXPECT_TRUE(std::isinf(*cell(1, 2).paper));
  EXPECT_FALSE(cell(2, 0).ours.has_value());
  EXPECT_EQ(cell(2, 0).note, "no recipe yet: no-such-method");
}

TEST_F(ReproductionTest, TakesSharesOfThePapersReferenceAtFullScale) {
  const Reproduction result = run(Scale::kFull);
  ASSERT_EQ(result.cells.size(), 9u);
  EXPECT_TRUE(std::isinf(*result.cells[2].ours)) << "an accuracy of 1, half of the reference, is never reached";
}

TEST_F(ReproductionTest, RunsNothingTwice) {
  const Reproduction first = run(Scale::kSmoke);
  EXPECT_EQ(first.ran, 4u);
  const Reproduction second = run(Scale::kSmoke);
  EXPECT_EQ(second.ran, 0u);
  EXPECT_EQ(to_json(second), to_json(first));
}

TEST_F(ReproductionTest, EndsWithoutAResultWhenInterrupted) {
  const std::atomic<bool> interrupt{true};
  options_.interrupt = &interrupt;
  const Reproduction result = run(Scale::kSmoke);
  EXPECT_TRUE(result.interrupted);
  EXPECT_TRUE(result.cells.empty());
  EXPECT_FALSE(std::filesystem::exists(result_file(scratch_.path(), "p:t", Scale::kSmoke)));
}

TEST_F(ReproductionTest, LeavesOutWhatIsNoPartOfTheScale) {
  const Reproduction result = run(Scale::kSmall);
  EXPECT_EQ(result.cells.size(), 3u);
  EXPECT_THAT(result.left_out, testing::ElementsAre("fours", "missing"));
}

TEST_F(ReproductionTest, IsReadBackAsItWasWritten) {
  const Reproduction result = run(Scale::kSmoke);
  const auto file = result_file(scratch_.path(), "p:t", Scale::kSmoke);
  const auto read = read_reproduction(file);
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(to_json(*read), to_json(result));
  EXPECT_EQ(to_plain_text(*read), to_plain_text(result));
  for (const char* broken : {"[]", "{\"target\":1}", "{", "{\"target\":\"x\",\"rows\":3}"}) {
    std::ofstream(file) << broken;
    EXPECT_FALSE(read_reproduction(file).ok()) << broken;
  }
}

TEST_F(ReproductionTest, IsShownAsATable) {
  const std::string text = to_plain_text(run(Scale::kSmoke));
  EXPECT_THAT(text, AllOf(HasSubstr("p:t at smoke: T\n"), HasSubstr("\nBlobs\n"), HasSubstr("accuracy, %"),
                          HasSubstr("never"), HasSubstr("no recipe yet"), HasSubstr("in the paper: S\n")));
}

TEST_F(ReproductionTest, ExpectsTimeForEveryRun) {
  const auto expected = expected_time(target_, Scale::kSmoke, 1);
  ASSERT_TRUE(expected.ok()) << expected.error().message;
  EXPECT_EQ(expected->runs, 4u);
  EXPECT_GT(expected->seconds, 0);
}

TEST_F(ReproductionTest, MakesAPageWithJudgements) {
  const std::string page = results_page({run(Scale::kSmoke)}, {{"p:t", "It agrees."}}, "abc123");
  EXPECT_THAT(page, AllOf(HasSubstr("## p:t"), HasSubstr("**It agrees.**"), HasSubstr("Commit abc123."),
                          HasSubstr("| Blobs | single | accuracy, % |")));
  EXPECT_THAT(results_page({run(Scale::kSmoke)}, {}, ""), HasSubstr("**Not judged yet.**"));
}

TEST(Judgements, AreOfTargetsThatThereAre) {
  const ScratchFolder scratch;
  const auto file = scratch.path() / "judgements.toml";
  std::ofstream(file) << "\"fedgsp:table1\" = \"Yes.\"\n";
  const auto judgements = read_judgements(file);
  ASSERT_TRUE(judgements.ok()) << judgements.error().message;
  EXPECT_EQ(judgements->at("fedgsp:table1"), "Yes.");
  std::ofstream(file) << "\"fedgsp:table9\" = \"Yes.\"\n";
  EXPECT_THAT(read_judgements(file).error().message, HasSubstr("did you mean"));
  std::ofstream(file) << "\"fedgsp:table1\" = 3\n";
  EXPECT_THAT(read_judgements(file).error().message, HasSubstr("want a sentence"));
}

}  // namespace
}  // namespace muster
