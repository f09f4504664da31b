// Whole runs in which clients keep something to themselves: what they are equal to where little or everything is kept,
// what is sent, what the server has, and what is refused.
#include "record/weights_file.h"
#include "small_run.h"

namespace muster {
namespace {

using testing::HasSubstr;

const Settings kSites{"data.test-fraction=0.2", "plan.sample-clients=1.0", "evaluation.on=clients", "rounds=4"};

class PersonalRunTest : public SimulationTest {
 protected:
  std::vector<double> accuracies(const RunSummary& summary) {
    std::vector<double> found;
    for (const nlohmann::json& line : lines(summary.dir / "rounds.jsonl")) found.push_back(line["accuracy"]);
    return found;
  }
  std::vector<float> server_model(const RunSummary& summary, const Recipe& recipe) {
    const auto data = make_federated_data(recipe.data, recipe.seed).value();
    const auto network = make_network(recipe.model, data->shape(), data->classes()).value();
    return read_safetensors(summary.dir / "model.safetensors", *network).value();
  }
  std::string refusal(const Recipe& recipe) {
    const auto summary = simulate(recipe, options());
    EXPECT_FALSE(summary.ok());
    return summary.ok() ? "" : summary.error().message;
  }
  static Recipe sites(Settings settings) {
    settings.insert(settings.begin(), kSites.begin(), kSites.end());
    return images(settings);
  }
};

TEST_F(PersonalRunTest, WithAllOfTheModelEveryClientIsAlone) {
  const Recipe personal = sites({"local.personal=all"});
  const RunSummary alone = run(sites({"aggregation.global=none"}));
  const RunSummary kept = run(personal);
  EXPECT_EQ(accuracies(kept), accuracies(alone));
  EXPECT_EQ(kept.bytes_up + kept.bytes_down, 0u);
}

TEST_F(PersonalRunTest, AHeadOfOnesOwnHelpsWhereClientsDiffer) {
  const RunSummary same = run(sites({}));
  const RunSummary own = run(sites({"local.personal=head"}));
  EXPECT_GT(accuracies(own).front(), accuracies(same).front());
  // 12 clients, 4 rounds, both ways; the head has 16 x 10 weights and 10 biases.
  const std::uint64_t head = 16 * 10 + 10;
  EXPECT_EQ(same.bytes_up - own.bytes_up, 4 * 12 * head * 4);
  EXPECT_EQ(same.bytes_down - own.bytes_down, 4 * 12 * head * 4);
}

TEST_F(PersonalRunTest, TheServersModelIsThatOfAveragingBesideOwnModelsAndTuning) {
  const Recipe plain = sites({"plan.sample-clients=5"});
  const RunSummary averaged = run(plain);
  const RunSummary beside = run(sites({"plan.sample-clients=5", "local.own-model=0.5"}));
  const RunSummary tuned = run(sites({"plan.sample-clients=5", "evaluation.fine-tune=1.0"}));
  const std::vector<float> model = server_model(averaged, plain);
  EXPECT_EQ(server_model(beside, plain), model);
  EXPECT_EQ(server_model(tuned, plain), model);
  EXPECT_EQ(beside.bytes_up, averaged.bytes_up);
  EXPECT_EQ(beside.samples_trained, 2 * averaged.samples_trained);
  EXPECT_EQ(tuned.samples_trained, averaged.samples_trained);
  EXPECT_GT(*beside.accuracy_last, *averaged.accuracy_last);
  EXPECT_GT(*tuned.accuracy_last, *averaged.accuracy_last);
}

TEST_F(PersonalRunTest, OwnModelsThatNothingPullsAreThoseOfClientsAlone) {
  EXPECT_EQ(accuracies(run(sites({"local.own-model=0.0"}))), accuracies(run(sites({"aggregation.global=none"}))));
}

// Nobody trains the body from round 3 on, and averaging equal numbers changes none of them.
TEST_F(PersonalRunTest, AFrozenBodyStaysAsItIs) {
  const Recipe short_run = sites({"rounds=2"});
  const Recipe long_run = sites({"local.freeze=body", "local.freeze-from=3", "rounds=5"});
  std::vector<float> before = server_model(run(short_run), short_run);
  std::vector<float> after = server_model(run(long_run), long_run);
  const std::size_t head = 16 * 10 + 10;
  EXPECT_NE(before, after);
  before.resize(before.size() - head);
  after.resize(after.size() - head);
  EXPECT_EQ(before, after);
}

// Groups of which everything is shared train one model: averaged in groups first, so but for rounding.
TEST_F(PersonalRunTest, GroupsThatShareEverythingHaveOneModel) {
  const Recipe one = sites({"rounds=2"});
  const Settings groups{"profile.kind=label-histogram", "grouping.method=mediator", "grouping.size=3", "rounds=2",
                        "aggregation.global=none"};
  Settings all = groups;
  all.push_back("aggregation.shared=all");
  const std::vector<float> averaged = server_model(run(one), one);
  const std::vector<float> shared = server_model(run(sites(all)), one);
  EXPECT_THAT(shared, testing::Pointwise(testing::FloatNear(2e-5f), averaged));
  const std::vector<float> apart = server_model(run(sites(groups)), one);
  EXPECT_THAT(apart, testing::Not(testing::Pointwise(testing::FloatNear(1e-3f), averaged)));
}

TEST_F(PersonalRunTest, WhatCannotBeMeantIsRefused) {
  EXPECT_EQ(refusal(sites({"local.personal=norm"})),
            "local.personal: \"norm\" has no effect: the network has no normalisation layer");
  EXPECT_THAT(refusal(images({"local.personal=head", "data.test-fraction=0.2", "evaluation.on=global"})),
              HasSubstr("evaluation.on: \"global\", but no model speaks for all clients (local.personal); want"));
  EXPECT_THAT(refusal(images({"local.own-model=0.1", "data.test-fraction=0.2", "evaluation.on=both"})),
              HasSubstr("(local.own-model)"));
  EXPECT_THAT(refusal(images({"evaluation.fine-tune=1.0"})),
              HasSubstr("data.test-fraction: 0, but clients are scored"));
  EXPECT_THAT(refusal(sites({"local.personal=head", "aggregation.global=none"})),
              HasSubstr("local.personal: [\"head\"] has no effect with aggregation.global = \"none\""));
  EXPECT_THAT(refusal(sites({"local.personal=head", "local.own-model=0.1"})),
              HasSubstr("local.personal: [\"head\"] has no effect with local.own-model = 0.1"));
  EXPECT_THAT(refusal(sites({"local.personal-epochs=1.0"})), HasSubstr("has no effect without local.personal"));
  EXPECT_THAT(refusal(sites({"local.personal=head", "data.validation-fraction=0.2", "evaluation.keep=best"})),
              HasSubstr("evaluation.keep: \"best\" has no effect with local.personal"));
}

// With "auto" clients are asked although the server has a test set.
TEST_F(PersonalRunTest, ClientsAreAskedWhereNobodyElseHasTheModel) {
  const RunSummary summary = run(images({"local.personal=head", "data.test-fraction=0.2"}));
  EXPECT_EQ(summary.sites.evaluated, 12u);
  EXPECT_THAT(slurp(summary.dir / "recipe.toml"), HasSubstr("on = \"clients\""));
}

}  // namespace
}  // namespace muster
