// The papers' files: every one is well-formed and can be planned, and a broken one says where.
#include "engine/reproduction_target.h"

#include "engine/reproduction_plan.h"

namespace muster {
namespace {

using testing::AllOf;
using testing::ElementsAreArray;
using testing::HasSubstr;

TEST(Targets, AreThoseOfThePapers) {
  EXPECT_THAT(
      target_names(),
      ElementsAreArray({"autocfl:fig10",   "autocfl:fig8",   "autocfl:table1",  "autocfl:table3",  "autocfl:table4",
                        "autocfl:table5",  "fedgroup:fig5",  "fedgroup:table1", "fedgroup:table3", "fedgsp:fig3",
                        "fedgsp:fig4",     "fedgsp:fig5",    "fedgsp:fig6",     "fedgsp:table1",   "fedseq:fig9",
                        "fedseq:table1",   "fedseq:table2",  "fedseq:table3",   "fedseq:table4",   "group-fel:fig14",
                        "group-fel:fig15", "group-fel:fig5", "group-fel:fig6",  "group-fel:fig8",  "group-fel:table1",
                        "group-fel:table2"}));
}

TEST(Targets, CanBePlannedAtEveryScale) {
  for (const std::string& name : target_names()) {
    const auto target = find_target(name);
    ASSERT_TRUE(target.ok()) << target.error().message;
    for (const Scale scale : kScales) {
      const auto plan = plan_reproduction(*target, scale);
      ASSERT_TRUE(plan.ok()) << plan.error().message;
      EXPECT_FALSE(plan->runs.empty()) << name;
    }
  }
}

TEST(Targets, HaveARecipeForEveryRow) {
  for (const std::string& name : target_names()) {
    const auto target = find_target(name);
    ASSERT_TRUE(target.ok()) << target.error().message;
    EXPECT_THAT(missing_methods(*target), testing::IsEmpty()) << name;
  }
}

TEST(Targets, TakeWhatNeedsNoFilesForSmoke) {
  for (const std::string& name : target_names()) {
    const auto plan = plan_reproduction(*find_target(name), Scale::kSmoke);
    ASSERT_TRUE(plan.ok()) << plan.error().message;
    for (const PlannedRun& run : plan->runs) {
      EXPECT_THAT(run.recipe.data.source, testing::AnyOf("blobs", "synthetic")) << run.label;
    }
  }
}

TEST(Targets, SayWhatDiffersFromThePaper) {
  const auto plan = plan_reproduction(*find_target("fedgroup:table1"), Scale::kSmoke);
  ASSERT_TRUE(plan.ok());
  ASSERT_EQ(plan->differs.size(), 1u) << "settings that differ in the same are named together";
  EXPECT_THAT(plan->differs.front(),
              AllOf(HasSubstr("1 class; 3 classes; 5 classes; IID: "), HasSubstr("rounds 3 (paper: 300)"),
                    HasSubstr("\"blobs\" (paper: \"mnist\")")));
}

TEST(Targets, SuggestTheNearestName) {
  const auto target = find_target("fedgsp:tabel1");
  ASSERT_FALSE(target.ok());
  EXPECT_THAT(target.error().message, HasSubstr("did you mean 'fedgsp:table1'?"));
  EXPECT_THAT(parse_scale("smal").error().message, HasSubstr("did you mean 'small'?"));
}

const std::string kSettings = R"(
[[setting]]
name = "a"
title = "A"
keys = { rounds = 3, data.source = "blobs", grouping.size = 4 }
[[setting]]
name = "b"
title = "B"
like = "a"
reference = 0.5
keys = { rounds = 4 }
)";
const std::string kTarget = R"(
title = "T"
settings = ["a", "b"]
[[column]]
name = "accuracy"
measure = "accuracy-last"
[[row]]
name = "FedAvg"
method = "fedavg"
paper = [1.5, inf]
[scale]
smoke.minutes = 1
small.minutes = 1
full = { minutes = 1, seeds = [1, 2] }
)";

Result<Target> parsed(const std::string& target, const std::string& settings = kSettings) {
  return parse_target({.name = "p-t", .toml = target}, {.name = "p", .toml = settings});
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const auto at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(TargetFile, IsReadWhole) {
  const auto target = parsed(kTarget);
  ASSERT_TRUE(target.ok()) << target.error().message;
  EXPECT_EQ(target->name, "p:t");
  EXPECT_EQ(target->blocks.size(), 2u);
  EXPECT_EQ(target->blocks[1].name, "B");
  EXPECT_EQ(target->paper(0, target->rows[0], 0), 1.5);
  EXPECT_EQ(target->paper(1, target->rows[0], 0), std::numeric_limits<double>::infinity());
  const auto plan = plan_reproduction(*target, Scale::kFull);
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  ASSERT_EQ(plan->runs.size(), 4u);
  EXPECT_EQ(plan->runs[1].recipe.seed, 2u);
  EXPECT_EQ(plan->runs[1].recipe.rounds, 3u);
  EXPECT_EQ(plan->runs[2].recipe.rounds, 4u) << "what is like another may differ from it";
}

TEST(TargetFile, MayGiveARowFewerRounds) {
  const auto target = parsed(replaced(kTarget, "method = \"fedavg\"", "method = \"fedavg\"\nrounds-share = 0.5"));
  ASSERT_TRUE(target.ok()) << target.error().message;
  EXPECT_EQ(plan_reproduction(*target, Scale::kFull)->runs[2].recipe.rounds, 2u);
}

TEST(TargetFile, GivesKeysToOneMethodOnly) {
  const std::string settings =
      replaced(kSettings, "reference = 0.5", "reference = 0.5\nmethods.fedavg = { local.batch-size = 7 }");
  const auto target = parsed(kTarget, settings);
  ASSERT_TRUE(target.ok()) << target.error().message;
  EXPECT_EQ(plan_reproduction(*target, Scale::kFull)->runs[2].recipe.local.batch_size, 7u);
  const auto other = parsed(replaced(kTarget, "\"fedavg\"", "\"scaffold\""), settings);
  ASSERT_TRUE(other.ok()) << other.error().message;
  EXPECT_EQ(plan_reproduction(*other, Scale::kFull)->runs[2].recipe.local.batch_size, 32u);
}

TEST(TargetFile, SaysWhatIsWrongAndWhere) {
  const struct {
    const char* from;
    const char* to;
    const char* error;
  } kFaults[] = {
      {"title = \"T\"", "", "title: want a text"},
      {"title = \"T\"", "titel = \"T\"", "title"},
      {"\"a\", \"b\"", "\"a\", \"c\"", "recipes/papers/p-t.toml:3: settings: \"c\": not in recipes/papers/p.toml"},
      {"accuracy-last", "accuracy-lats", "did you mean 'accuracy-last'?"},
      {"accuracy-last\"", "rounds-to\"", "rounds-to does"},
      {"accuracy-last\"", "accuracy-last\"\ntarget = 0.5", "accuracy-last does not"},
      {"accuracy-last\"", "rounds-to\"\nshare = 0.5", "a has no `reference`"},
      {"accuracy-last\"", "accuracy-last\"\nversus = \"FedAvg\"", "want difference, change or share"},
      {"accuracy-last\"", "accuracy-last\"\nas = \"share\"\nversus = \"X\"", "unknown column 'X'"},
      {"[1.5, inf]", "[1.5]", "1 numbers, want 2"},
      {"[1.5, inf]", "[1.5, \"x\"]", "want a list of numbers"},
      {"method = \"fedavg\"", "", "method: want a text"},
      {"smoke.minutes = 1", "", "want [scale.smoke]"},
      {"smoke.minutes = 1", "smoke.minute = 1", "minutes"},
      {"seeds = [1, 2]", "blocks = [\"C\"]", "unknown scale 'C'"},
      {"settings = [\"a\"", "settings = [\"a\", \"a\"", "\"A\" is there twice"},
      {"[[row]]", "[row]", "want tables: [[row]]"},
  };
  for (const auto& fault : kFaults) {
    const auto target = parsed(replaced(kTarget, fault.from, fault.to));
    ASSERT_FALSE(target.ok()) << fault.to;
    EXPECT_THAT(target.error().message, AllOf(HasSubstr("recipes/papers/p"), HasSubstr(fault.error)));
  }
}

TEST(SettingsFile, SaysWhatIsWrongAndWhere) {
  const struct {
    const char* from;
    const char* to;
    const char* error;
  } kFaults[] = {
      {"like = \"a\"", "like = \"z\"", "\"z\", want a setting above"},
      {"name = \"b\"", "name = \"a\"", "\"a\" is there twice"},
      {"like = \"a\"", "needs = \"mnist\"", "want a last stand-in that needs no files"},
      {"reference = 0.5", "reference = \"x\"", "want a number"},
      {"reference = 0.5", "refernce = 0.5", "did you mean 'reference'?"},
  };
  for (const auto& fault : kFaults) {
    const auto target = parsed(kTarget, replaced(kSettings, fault.from, fault.to));
    ASSERT_FALSE(target.ok()) << fault.to;
    EXPECT_THAT(target.error().message, AllOf(HasSubstr("recipes/papers/p.toml:"), HasSubstr(fault.error)));
  }
}

TEST(SettingsFile, MayNotGiveAKeyThatThereIsNot) {
  const auto target = parsed(kTarget, replaced(kSettings, "rounds = 3", "local.epoch = 3"));
  ASSERT_TRUE(target.ok()) << "keys are read when recipes are made of them";
  const auto plan = plan_reproduction(*target, Scale::kFull);
  ASSERT_FALSE(plan.ok());
  EXPECT_THAT(plan.error().message, AllOf(HasSubstr("p:t: a: FedAvg"), HasSubstr("local.epochs")));
}

}  // namespace
}  // namespace muster
