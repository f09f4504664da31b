#include "recipe/facts.h"

#include "recipe/attendance.h"

namespace muster {
namespace {

using testing::HasSubstr;

using Settings = std::vector<std::string>;

const RecipeFacts kForty{.clients = 40,
                         .clients_with_samples = 40,
                         .classes = 10,
                         .late = 0,
                         .edges = {{.clients = 40, .samples = 3120}},
                         .global_test = true,
                         .client_tests = true,
                         .exemplars = false,
                         .images = true};

std::string refused_for(const Settings& settings, RecipeFacts facts = kForty) {
  Recipe recipe;
  for (const std::string& setting : settings) {
    const Status status = apply_setting(recipe, setting);
    EXPECT_TRUE(status.ok()) << status.error().message;
  }
  const Status checked = check_recipe(recipe);
  EXPECT_TRUE(checked.ok()) << checked.error().message;
  if (recipe.newcomers.round) facts.late = recipe.newcomers.clients.of(facts.clients);
  if (facts.edges.size() == 1) {
    facts.edges[0].clients = recipe.profile_clients.of(facts.clients_with_samples - facts.late);
  }
  const Status status = check_recipe_for(recipe, facts);
  if (status.ok()) return "accepted";
  EXPECT_EQ(status.error().code, ErrorCode::kUsage);
  return status.error().message;
}

const Settings kUpdates{"profile.kind=update-direction", "profile.steps=3", "grouping.method=decomposed-cosine",
                        "aggregation.global=none"};
Settings with(Settings settings, const Settings& more) {
  settings.insert(settings.end(), more.begin(), more.end());
  return settings;
}

TEST(Facts, MoreGroupsThanClientsAreRefused) {
  EXPECT_EQ(refused_for(with(kUpdates, {"grouping.groups=40"})), "accepted");
  EXPECT_EQ(refused_for(with(kUpdates, {"grouping.groups=41"})),
            "grouping.groups: 41, but there are 40 clients with samples; want at most 40");
  EXPECT_THAT(refused_for(with(kUpdates, {"grouping.groups=7", "profile.clients=6", "newcomers.assign=random"})),
              HasSubstr("grouping.groups: 7, but 6 clients are asked for their profile; want at most 6"));
  EXPECT_EQ(refused_for(with(kUpdates, {"grouping.groups=6", "profile.clients=6", "newcomers.assign=random"})),
            "accepted");
  EXPECT_THAT(refused_for(with(kUpdates, {"grouping.groups=31", "newcomers.round=3", "newcomers.clients=10",
                                          "newcomers.assign=random"})),
              HasSubstr("30 clients are there in round 1"));
  const Settings mixed{"profile.kind=label-histogram", "grouping.method=inter-cluster", "plan.regroup-every=1"};
  EXPECT_EQ(refused_for(with(mixed, {"plan.groups=40"})), "accepted");
  EXPECT_THAT(refused_for(with(mixed, {"plan.groups=41"})), HasSubstr("plan.groups: 41, but there are 40 clients"));
  EXPECT_THAT(refused_for(with(mixed, {"plan.groups={growth=\"log\",alpha=2.0,beta=41}"})),
              HasSubstr("41 in the first round"));
  EXPECT_EQ(refused_for(with(mixed, {"plan.groups={growth=\"exp\",alpha=2.0,beta=4}"})), "accepted");
}

// Whatever forms groups later, and whoever drops out then.
TEST(Facts, TheyAreRefusedBeforeAnEventTooAndWhateverTheFaults) {
  const Settings event{"profile.kind=update-direction", "grouping.method=agglomerative", "grouping.groups=41",
                       "plan.regroup-on=round",         "plan.regroup-round=3",          "aggregation.global=none"};
  EXPECT_THAT(refused_for(event), HasSubstr("grouping.groups: 41"));
  EXPECT_THAT(refused_for(with(event, {"faults.drop=0.3"})), HasSubstr("grouping.groups: 41"));
}

TEST(Facts, GroupsThatCannotFillAreRefused) {
  EXPECT_EQ(refused_for({"grouping.method=random", "grouping.size=40"}), "accepted");
  EXPECT_THAT(refused_for({"grouping.method=random", "grouping.size=41"}), HasSubstr("grouping.size: 41"));
  RecipeFacts edges = kForty;
  edges.edges = {{14, 1000}, {13, 1000}, {13, 1120}};
  EXPECT_EQ(refused_for({"grouping.method=random", "grouping.size=13"}, edges), "accepted");
  EXPECT_THAT(refused_for({"grouping.method=random", "grouping.size=14"}, edges),
              HasSubstr("the smallest edge has 13 clients; want at most 13"));
  const Settings even{"profile.kind=label-histogram", "grouping.method=coefficient-of-variation"};
  EXPECT_THAT(refused_for(with(even, {"grouping.min-size=41"})), HasSubstr("grouping.min-size: 41"));
  const Settings quota{"profile.kind=label-histogram", "grouping.method=kmeans-deal", "grouping.max-clients=50"};
  EXPECT_EQ(refused_for(with(quota, {"grouping.min-samples=3120"})), "accepted");
  EXPECT_EQ(refused_for(with(quota, {"grouping.min-samples=4000"})),
            "grouping.min-samples: 4,000, but all 40 clients together have 3,120 samples; lower it");
  EXPECT_THAT(refused_for(with(quota, {"grouping.clusters=41"})), HasSubstr("grouping.clusters: 41"));
  // On every edge.
  EXPECT_EQ(refused_for(with(quota, {"grouping.min-samples=1000"}), edges), "accepted");
  EXPECT_EQ(refused_for(with(quota, {"grouping.min-samples=1100"}), edges),
            "grouping.min-samples: 1,100, but the 14 clients of an edge together have 1,000 samples; lower it");
  // Groups that are complete with a few clients do not need the samples.
  EXPECT_EQ(refused_for({"profile.kind=label-histogram", "grouping.method=kmeans-deal", "grouping.max-clients=5",
                         "grouping.min-samples=4000"}),
            "accepted");
}

TEST(Facts, SomebodyIsThereFromTheStart) {
  EXPECT_EQ(refused_for({"newcomers.round=3", "newcomers.clients=39"}), "accepted");
  EXPECT_THAT(refused_for({"newcomers.round=3", "newcomers.clients=40"}), HasSubstr("nobody is there before round 3"));
}

TEST(Facts, WhatIsEvaluatedMustBeThere) {
  RecipeFacts none = kForty;
  none.global_test = none.client_tests = false;
  EXPECT_EQ(refused_for({}, none), "accepted");
  EXPECT_THAT(refused_for({"target-accuracy=0.5"}, none),
              HasSubstr("target-accuracy: 0.5, but nobody has test samples"));
  EXPECT_THAT(refused_for({"evaluation.on=global"}, none), HasSubstr("no global test set"));
  EXPECT_THAT(refused_for({"evaluation.on=clients"}, none), HasSubstr("no client has test samples"));
  EXPECT_THAT(refused_for({"evaluation.on=global", "aggregation.global=none"}), HasSubstr("no model speaks for all"));
  EXPECT_THAT(refused_for({"evaluation.clients=5"}), HasSubstr("evaluation.clients: has no effect"));
  EXPECT_EQ(refused_for({"evaluation.clients=1.0"}), "accepted");
  EXPECT_EQ(refused_for({"evaluation.clients=5", "evaluation.on=both"}), "accepted");
  RecipeFacts own = kForty;
  own.global_test = false;
  EXPECT_EQ(refused_for({"evaluation.clients=5", "target-accuracy=0.5"}, own), "accepted");
  RecipeFacts server = kForty;
  server.client_tests = false;
  EXPECT_EQ(refused_for({"target-accuracy=0.5"}, server), "accepted");
  EXPECT_THAT(refused_for({"target-accuracy=0.5", "aggregation.global=none"}, server), HasSubstr("target-accuracy"));
}

TEST(Facts, MetricsMustHaveAMeaning) {
  RecipeFacts two = kForty;
  two.classes = 2;
  RecipeFacts many = kForty;
  many.classes = 101;
  EXPECT_EQ(refused_for({"evaluation.metrics=auc"}, two), "accepted");
  EXPECT_THAT(refused_for({"evaluation.metrics=auc"}, many),
              HasSubstr("\"auc\" is for two classes, but the data have 101"));
  EXPECT_EQ(refused_for({"evaluation.metrics=macro-f1"}, many), "accepted");
  EXPECT_THAT(refused_for({"evaluation.metrics=confusion"}, many),
              HasSubstr("\"confusion\" is for at most 100 classes"));
  EXPECT_THAT(refused_for({"evaluation.metrics=per-class"}, many),
              HasSubstr("\"per-class\" is for at most 100 classes"));
  RecipeFacts none = two;
  none.global_test = none.client_tests = false;
  EXPECT_THAT(refused_for({"evaluation.metrics=auc"}, none),
              HasSubstr("evaluation.metrics: \"auc\", but nobody has test"));
}

TEST(Facts, WhoeverChoosesByValidationMustHaveSamplesForIt) {
  RecipeFacts some = kForty;
  some.client_validation = true;
  for (const char* setting : {"stop.patience=2", "evaluation.keep=best"}) {
    EXPECT_EQ(refused_for({"data.validation-fraction=0.1", setting}, some), "accepted");
    EXPECT_THAT(refused_for({"data.validation-fraction=0.1", setting}),
                HasSubstr("but no client has enough samples for data.validation-fraction = 0.1; raise it"));
  }
  EXPECT_EQ(refused_for({"data.validation-fraction=0.1", "evaluation.keep=last"}), "accepted");
}

TEST(Facts, TablesAreNotTurned) {
  RecipeFacts table = kForty;
  table.images = false;
  const Settings turned{"data.source=csv", "data.path=x.csv", "data.partition=rotations", "data.rotations=2"};
  EXPECT_EQ(refused_for(turned), "accepted");
  EXPECT_THAT(refused_for(turned, table), HasSubstr("data.rotations: 2, but the samples are not images"));
}

TEST(Facts, AreCountedFromTheData) {
  Recipe recipe;
  for (const char* setting : {"data.source=synthetic", "data.clients=7", "data.samples-min=20", "data.samples-max=30",
                              "data.edges=2", "data.test-fraction=0.1", "newcomers.round=2", "newcomers.clients=3"}) {
    ASSERT_TRUE(apply_setting(recipe, setting).ok());
  }
  ASSERT_TRUE(check_recipe(recipe).ok());
  const auto data = make_federated_data(recipe.data, 1);
  ASSERT_TRUE(data.ok());
  const RecipeFacts facts = recipe_facts(recipe, **data);
  EXPECT_EQ(facts.clients, 7u);
  EXPECT_EQ(facts.clients_with_samples, 7u);
  EXPECT_EQ(facts.classes, 10u);
  EXPECT_EQ(facts.late, 3u);
  EXPECT_TRUE(facts.global_test);
  EXPECT_TRUE(facts.client_tests);
  EXPECT_FALSE(facts.exemplars);
  EXPECT_FALSE(facts.images);
}

// The very clients that the run will have: those that are late, and those that are not asked, do not fill an edge.
TEST(Facts, KnowWhoIsThereOnEachEdgeWhenGroupsAreFirstFormed) {
  Recipe recipe;
  for (const char* setting : {"data.source=synthetic", "data.clients=12", "data.samples-min=20", "data.samples-max=30",
                              "data.edges=2", "newcomers.round=2", "newcomers.clients=5",
                              "grouping.method=cluster-deal", "grouping.min-size=6", "profile.kind=label-histogram"}) {
    ASSERT_TRUE(apply_setting(recipe, setting).ok());
  }
  ASSERT_TRUE(check_recipe(recipe).ok());
  const auto data = make_federated_data(recipe.data, 1);
  ASSERT_TRUE(data.ok());
  for (recipe.seed = 1; recipe.seed <= 20; ++recipe.seed) {
    std::vector<EdgeFacts> wanted(2);
    const std::vector<std::uint32_t> late = late_clients(recipe, 12);
    for (std::uint32_t k = 0; k < 12; ++k) {
      if (std::ranges::find(late, k) != late.end()) continue;
      ++wanted[(*data)->edge({k})].clients;
      wanted[(*data)->edge({k})].samples += (*data)->train_count({k});
    }
    std::erase_if(wanted, [](const EdgeFacts& edge) { return edge.clients == 0; });
    const RecipeFacts facts = recipe_facts(recipe, **data);
    ASSERT_EQ(facts.edges.size(), wanted.size());
    std::uint32_t smallest = 12;
    for (std::size_t e = 0; e < wanted.size(); ++e) {
      EXPECT_EQ(facts.edges[e].clients, wanted[e].clients);
      EXPECT_EQ(facts.edges[e].samples, wanted[e].samples);
      smallest = std::min(smallest, wanted[e].clients);
    }
    const Status status = check_recipe_for(recipe, facts);
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().message,
              fmt::format("grouping.min-size: 6, but the smallest edge has {} clients when groups are formed; want at "
                          "most {}",
                          smallest, smallest));
  }
  recipe.newcomers = {};
  recipe.profile_clients = Amount{3u};
  recipe.newcomers.assign = "random";
  std::uint32_t asked = 0;
  for (const EdgeFacts& edge : recipe_facts(recipe, **data).edges) asked += edge.clients;
  EXPECT_EQ(asked, 3u);
}

}  // namespace
}  // namespace muster
