#include "engine/row_predictions.h"

#include "site_table.h"
#include "small_run.h"

namespace muster {
namespace {

using testing::HasSubstr;

class RowPredictionsTest : public SimulationTest {
 protected:
  SavedRun trained(const Settings& settings) {
    const auto table = folder_.write("sites.csv", site_table({.split = true}));
    const Recipe recipe = recipe_of(
        {{"data.source=csv", "data.path=" + table.string(), "data.label=outcome", "data.client=site", "rounds=3",
          "local.epochs=3", "evaluation.on=clients", "model.name=mlp", "model.hidden=[8]", "local.learning-rate=0.1"},
         settings});
    summary_ = run(recipe);
    auto saved = SavedRun::open("", summary_.dir.string());
    EXPECT_TRUE(saved.ok()) << saved.error().message;
    return std::move(*saved);
  }

  Result<RowPredictions> ask(SavedRun& saved, const std::string& table, const PredictionOptions& options = {}) {
    auto rows = prepare_table(table, saved.preparation());
    EXPECT_TRUE(rows.ok()) << rows.error().message;
    rows_ = std::move(*rows);
    return predict(saved, rows_, options);
  }

  // What the run said of its test rows is what its models say of them when they come from a file.
  void expect_own_accuracy(SavedRun& saved) {
    const auto predictions = ask(saved, site_table({.split = true, .only = "test"}));
    ASSERT_TRUE(predictions.ok()) << predictions.error().message;
    ASSERT_TRUE(predictions->accuracy && summary_.accuracy_last);
    EXPECT_DOUBLE_EQ(*predictions->accuracy, *summary_.accuracy_last);
    EXPECT_GT(*predictions->accuracy, 0.5);
  }

  RunSummary summary_;
  PreparedRows rows_;
};

const Settings kGroups{"profile.kind=label-histogram", "grouping.method=mediator", "grouping.size=2",
                       "aggregation.global=none"};
const Settings kOwn{"aggregation.global=none"};

TEST_F(RowPredictionsTest, OfOneModelAreThoseOfTheRun) {
  SavedRun saved = trained({});
  EXPECT_EQ(saved.models().size(), 1u);
  expect_own_accuracy(saved);
}

TEST_F(RowPredictionsTest, OfGroupsComeFromTheModelOfEachRowsSite) {
  SavedRun saved = trained(kGroups);
  EXPECT_GT(saved.models().size(), 1u);
  expect_own_accuracy(saved);
}

TEST_F(RowPredictionsTest, OfClientsComeFromTheModelThatEachKeeps) {
  SavedRun saved = trained(kOwn);
  EXPECT_EQ(saved.models().size(), 5u);
  expect_own_accuracy(saved);
}

TEST_F(RowPredictionsTest, OfRowsWithMissingCellsAreLeftOutWhereTrainingDid) {
  SavedRun saved = trained({"data.missing=drop"});
  ASSERT_TRUE(saved.preparation().drops_missing);
  std::string table = site_table({.split = true, .only = "test"});
  const auto whole = ask(saved, table);
  ASSERT_TRUE(whole.ok()) << whole.error().message;
  table += "site 1,50,?,0.5,test,well\nsite 1,50,120,0.5,test,\n";
  const auto predictions = ask(saved, table);
  ASSERT_TRUE(predictions.ok()) << predictions.error().message;
  EXPECT_EQ(predictions->predicted, whole->predicted);
  EXPECT_EQ(predictions->accuracy, whole->accuracy);
  EXPECT_EQ(rows_.notes.size(), 1u);
}

TEST_F(RowPredictionsTest, OfClientsWithPartsOrModelsOfTheirOwnAreThoseOfTheRun) {
  for (const Settings& own : {Settings{"local.personal=head"}, Settings{"local.own-model=0.1"}}) {
    SavedRun saved = trained(own);
    EXPECT_EQ(saved.models().size(), 5u);
    expect_own_accuracy(saved);
    EXPECT_NE(*saved.weights(*saved.of_client("site 1")), *saved.weights(*saved.of_client("site 3")));
  }
  Settings grouped = kGroups;
  grouped.push_back("local.personal=body");
  SavedRun saved = trained(grouped);
  EXPECT_EQ(saved.models().size(), 5u);
  expect_own_accuracy(saved);
}

TEST_F(RowPredictionsTest, OfClientsWhoseModelsWereTunedAreRefused) {
  SavedRun saved = trained({"evaluation.fine-tune=1.0"});
  EXPECT_THAT(saved.of_client("site 1").error().message, HasSubstr("evaluation.fine-tune"));
  EXPECT_TRUE(saved.reported().ok()) << "the model that they were tuned from";
}

TEST_F(RowPredictionsTest, AreProbabilities) {
  SavedRun saved = trained({});
  const auto predictions = ask(saved, site_table({.label = false}));
  ASSERT_TRUE(predictions.ok());
  EXPECT_FALSE(predictions->accuracy);
  ASSERT_EQ(predictions->classes, 3u);
  for (std::size_t row = 0; row < predictions->predicted.size(); ++row) {
    const float* p = &predictions->probabilities[row * 3];
    EXPECT_NEAR(p[0] + p[1] + p[2], 1, 1e-6);
    EXPECT_EQ(predictions->predicted[row], static_cast<std::uint32_t>(std::max_element(p, p + 3) - p));
  }
}

TEST_F(RowPredictionsTest, ATableTellsLineSiteClassesAndProbabilities) {
  SavedRun saved = trained({});
  const auto predictions = ask(saved, "outcome,site,noise,pressure,age\nwell,site 1,0.5,120,50\n");
  ASSERT_TRUE(predictions.ok());
  const std::string text = predictions_csv(saved, rows_, *predictions);
  EXPECT_THAT(text, testing::StartsWith("line,site,outcome,predicted,p:ill,p:watched,p:well\n2,site 1,well,"));
}

TEST_F(RowPredictionsTest, TheChosenModelAnswersForAllRows) {
  SavedRun saved = trained(kGroups);
  const std::string table = site_table({});
  const auto first = ask(saved, table, {.group = 0});
  const auto second = ask(saved, table, {.group = 1});
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_NE(first->probabilities, second->probabilities);
  const auto choice = saved.of_client("site 3");
  ASSERT_TRUE(choice.ok() && choice->group);
  const auto by_client = ask(saved, table, {.client = "site 3"});
  ASSERT_TRUE(by_client.ok());
  EXPECT_EQ(by_client->probabilities, (choice->group->value == 0 ? first : second)->probabilities);
}

TEST_F(RowPredictionsTest, ASiteThatTheRunNeverSawIsNamedWithItsLine) {
  SavedRun saved = trained(kGroups);
  const auto predictions = ask(saved, "site,age,pressure,noise\nsite 1,50,120,0\nsite 9,50,120,0\n");
  ASSERT_FALSE(predictions.ok());
  EXPECT_THAT(predictions.error().message, HasSubstr("line 3: client 'site 9'"));
}

TEST_F(RowPredictionsTest, WithoutSitesOneOfSeveralModelsMustBeChosen) {
  SavedRun saved = trained(kGroups);
  const auto predictions = ask(saved, "age,pressure,noise\n50,120,0\n");
  ASSERT_FALSE(predictions.ok());
  EXPECT_THAT(predictions.error().message, HasSubstr("--group G or --client NAME"));
  EXPECT_THAT(saved.of_group(7).error().message, HasSubstr("the run has groups 0 to"));
}

TEST_F(RowPredictionsTest, ARunThatLostAFileIsRefusedByName) {
  SavedRun saved = trained({});
  for (const char* file : {"preparation.json", "clients.csv"}) {
    const std::string text = slurp(summary_.dir / file);
    spit(summary_.dir / file, "{\"");
    const auto broken = SavedRun::open("", summary_.dir.string());
    ASSERT_FALSE(broken.ok()) << file;
    EXPECT_THAT(broken.error().message, HasSubstr(file));
    spit(summary_.dir / file, text);
  }
  std::filesystem::remove(summary_.dir / "preparation.json");
  EXPECT_THAT(SavedRun::open("", summary_.dir.string()).error().message, HasSubstr("preparation.json"));
}

}  // namespace
}  // namespace muster
