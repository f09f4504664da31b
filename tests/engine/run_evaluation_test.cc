// Who scores which model, and what becomes of the scores.
#include "engine/run_evaluation.h"

#include <cmath>

#include "train/fake_federation.h"

namespace muster {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::unique_ptr<RunEvaluation> made(const Federation& federation, const EvaluationOptions& options = {},
                                    bool separate = false) {
  auto evaluation = RunEvaluation::make(options, federation, separate, 1);
  EXPECT_TRUE(evaluation.ok()) << evaluation.error().message;
  return std::move(evaluation).value();
}
std::string refused(const Federation& federation, const char* on, bool separate = false) {
  const auto evaluation = RunEvaluation::make({.on = on}, federation, separate, 1);
  EXPECT_FALSE(evaluation.ok());
  return evaluation.ok() ? "" : evaluation.error().message;
}
std::vector<std::uint32_t> ids(std::span<const ClientId> clients) {
  std::vector<std::uint32_t> values;
  for (const ClientId client : clients) values.push_back(client.value);
  return values;
}

// Groups {0, 1} and {3}, with models 10 and 30; their mean is 20. Client 2 is in no group, 4 has no test samples, and 5
// comes in round 4.
struct Grouped {
  Grouped() {
    const std::vector<ClientId> members{{0}, {1}, {3}};
    grouping.add({members.data(), 2});
    grouping.add({members.data() + 2, 1});
    for (const std::uint32_t k : {2u, 4u, 5u}) grouping.add_idle({k});
    Rows<float> starts(2, 6);
    std::fill_n(starts.values.begin(), 6, 10.0f);
    std::fill_n(starts.values.begin() + 6, 6, 30.0f);
    models->regrouped(grouping, starts);
  }
  FakeFederation federation{{{1, 10}, {1, 20}, {1, 30}, {1, 40}, {1, 0}, {1, 100, 4}}};
  Grouping grouping;
  std::unique_ptr<Models> models = make_group_models(0, std::vector<float>(6, 0));
};

TEST(RunEvaluation, ClientsScoreTheModelOfTheirGroupOrTheOneThatSpeaksForAll) {
  Grouped run;
  const auto evaluation = made(run.federation, {}, true);
  const EvaluationRequest request = evaluation->request(*run.models, run.grouping, 3);
  EXPECT_TRUE(request.global.empty());
  EXPECT_FALSE(request.own_models);
  EXPECT_THAT(ids(request.clients), ElementsAre(0, 1, 2, 3));
  std::vector<float> scored;
  for (const std::uint32_t model : request.model_of) scored.push_back(request.models[model][0]);
  EXPECT_THAT(scored, ElementsAre(10, 10, 20, 30));
  // The late client is there from its round on.
  EXPECT_THAT(ids(evaluation->request(*run.models, run.grouping, 4).clients), ElementsAre(0, 1, 2, 3, 5));
}

TEST(RunEvaluation, WhoIsNotThereIsNotCovered) {
  Grouped run;
  run.federation.score = [](ClientId client, float) {
    const std::uint64_t samples = client.value == 5 ? 100 : 10 * (client.value + 1);
    return EvaluateReply{Evaluation{.samples = samples, .correct = client.value == 3 ? 10u : 5u, .loss_sum = 8}};
  };
  const auto evaluation = made(run.federation, {}, true);
  RoundRecord record{.round = 3};
  evaluation->enter(*run.federation.evaluate(evaluation->request(*run.models, run.grouping, 3)), record);
  EXPECT_DOUBLE_EQ(record.accuracy.value(), 25 / 100.0);
  EXPECT_DOUBLE_EQ(record.loss.value(), 32 / 100.0);
  EXPECT_DOUBLE_EQ(record.covered.value(), 0.5);
  EXPECT_FALSE(record.client_accuracy);
  ASSERT_EQ(record.group_accuracy.size(), 2u);
  EXPECT_DOUBLE_EQ(record.group_accuracy[0], 10 / 30.0);  // without the client in no group
  EXPECT_DOUBLE_EQ(record.group_accuracy[1], 10 / 40.0);
  EXPECT_FLOAT_EQ(evaluation->client_accuracy()[0], 0.5f);
  EXPECT_FLOAT_EQ(evaluation->client_accuracy()[3], 0.25f);
  EXPECT_TRUE(std::isnan(evaluation->client_accuracy()[4]));
  EXPECT_TRUE(std::isnan(evaluation->client_accuracy()[5]));
  RoundRecord later{.round = 4};
  evaluation->enter(*run.federation.evaluate(evaluation->request(*run.models, run.grouping, 4)), later);
  EXPECT_DOUBLE_EQ(later.covered.value(), 1);
}

TEST(RunEvaluation, WhoDropsIsNotCoveredEither) {
  Grouped run;
  run.federation.score = [](ClientId client, float) {
    if (client.value == 3) return EvaluateReply{Dropped{client, DropReason::kUnreachable}};
    return EvaluateReply{Evaluation{.samples = 10 * (client.value + 1), .correct = 10, .loss_sum = 1}};
  };
  const auto evaluation = made(run.federation, {}, true);
  RoundRecord record{.round = 3};
  evaluation->enter(*run.federation.evaluate(evaluation->request(*run.models, run.grouping, 3)), record);
  EXPECT_DOUBLE_EQ(record.covered.value(), 60 / 200.0);
  EXPECT_TRUE(std::isnan(record.group_accuracy[1]));
}

TEST(RunEvaluation, OneModelHasNoGroupsToTellApart) {
  Grouped run;
  const auto shared = make_shared_model(*make_aggregator({}, {.parameters = 6, .size = 6, .clients = 6, .alpha = 0}),
                                        std::vector<float>(6, 5));
  const auto evaluation = made(run.federation, {.on = "clients"});
  const EvaluationRequest request = evaluation->request(*shared, run.grouping, 9);
  EXPECT_EQ(request.models.size(), 1u);
  EXPECT_THAT(request.model_of, ElementsAre(0, 0, 0, 0, 0));
  RoundRecord record{.round = 9};
  record.group_accuracy = {1, 2};
  evaluation->enter(*run.federation.evaluate(request), record);
  EXPECT_THAT(record.group_accuracy, IsEmpty());
}

TEST(RunEvaluation, ClientsThatKeepTheirModelsScoreThem) {
  Grouped run;
  const auto own = make_client_models(std::vector<float>(6, 5));
  own->regrouped(run.grouping, {});
  const auto evaluation = made(run.federation, {}, true);
  const EvaluationRequest request = evaluation->request(*own, run.grouping, 1);
  EXPECT_TRUE(request.own_models);
  EXPECT_EQ(request.models.size(), 1u);  // for those that have none yet
  EXPECT_THAT(request.models[0], testing::Each(5));
}

TEST(RunEvaluation, WhatAutoMeans) {
  FakeFederation federation({{1, 10}, {1, 10}});
  federation.test_samples = 100;
  Grouping grouping;
  const auto models = make_shared_model(*make_aggregator({}, {.parameters = 6, .size = 6, .clients = 2, .alpha = 0}),
                                        std::vector<float>(6, 5));
  const auto asks = [&](const char* on, bool separate = false) {
    const auto evaluation = made(federation, {.on = on}, separate);
    const EvaluationRequest request = evaluation->request(*models, grouping, 1);
    return std::pair(!request.global.empty(), request.clients.size());
  };
  EXPECT_EQ(asks("auto"), std::pair(true, std::size_t{0}));
  EXPECT_EQ(asks("auto", true), std::pair(false, std::size_t{2}));
  EXPECT_EQ(asks("global"), std::pair(true, std::size_t{0}));
  EXPECT_EQ(asks("clients"), std::pair(false, std::size_t{2}));
  EXPECT_EQ(asks("both"), std::pair(true, std::size_t{2}));
  EXPECT_THAT(refused(federation, "global", true), HasSubstr("no model speaks for all clients"));
  EXPECT_THAT(refused(federation, "both", true), HasSubstr("no model speaks for all clients"));
  federation.test_samples = 0;
  EXPECT_EQ(asks("auto"), std::pair(false, std::size_t{2}));
  EXPECT_THAT(refused(federation, "global"), HasSubstr("no global test set"));
  EXPECT_THAT(refused(federation, "both"), HasSubstr("no global test set"));
}

TEST(RunEvaluation, WithoutTestSamplesAnywhereThereIsNothingToDo) {
  FakeFederation federation({{1, 0}, {1, 0}});
  EXPECT_FALSE(made(federation)->any());
  EXPECT_THAT(refused(federation, "clients"), HasSubstr("no client has test samples"));
  federation.test_samples = 10;
  EXPECT_TRUE(made(federation)->any());
}

TEST(RunEvaluation, TheServersScoreCountsWhereThereIsOne) {
  FakeFederation federation({{1, 10}, {1, 30}});
  federation.test_samples = 100;
  federation.score_global = [](float) { return Score{.samples = 100, .correct = 70, .loss_sum = 50}; };
  federation.score = [](ClientId client, float) {
    return EvaluateReply{Evaluation{.samples = client.value == 0 ? 10u : 30u, .correct = 10, .loss_sum = 3}};
  };
  Grouping grouping;
  const auto models = make_shared_model(*make_aggregator({}, {.parameters = 6, .size = 6, .clients = 2, .alpha = 0}),
                                        std::vector<float>(6, 5));
  const auto evaluation = made(federation, {.on = "both"});
  RoundRecord record;
  evaluation->enter(*federation.evaluate(evaluation->request(*models, grouping, 1)), record);
  EXPECT_THAT(federation.evaluations[0].global, testing::Each(5));
  EXPECT_DOUBLE_EQ(record.accuracy.value(), 0.7);
  EXPECT_DOUBLE_EQ(record.loss.value(), 0.5);
  EXPECT_DOUBLE_EQ(record.client_accuracy.value(), 0.5);
  EXPECT_FALSE(record.covered);
}

TEST(RunEvaluation, AShareOfTheClientsIsDrawnOncePerSeed) {
  FakeFederation federation(std::vector<FakeClient>(50, {1, 10}));
  Grouping grouping;
  const auto models = make_client_models(std::vector<float>(6, 5));
  const auto asked = [&](std::uint64_t seed) {
    auto evaluation = RunEvaluation::make({.on = "clients", .clients = {0.2}}, federation, true, seed);
    return ids((*evaluation)->request(*models, grouping, 1).clients);
  };
  EXPECT_EQ(asked(1).size(), 10u);
  EXPECT_EQ(asked(1), asked(1));
  EXPECT_NE(asked(1), asked(2));
  EXPECT_TRUE(std::ranges::is_sorted(asked(1)));
}

TEST(RunEvaluation, ClientAccuraciesComeBackFromACheckpoint) {
  Grouped run;
  const auto evaluation = made(run.federation, {}, true);
  RoundRecord record{.round = 3};
  evaluation->enter(*run.federation.evaluate(evaluation->request(*run.models, run.grouping, 3)), record);
  Checkpoint checkpoint{.round = 3};
  evaluation->save(checkpoint);
  const auto back = made(run.federation, {}, true);
  ASSERT_TRUE(back->restore(checkpoint));
  EXPECT_EQ(back->client_accuracy()[1], evaluation->client_accuracy()[1]);
  EXPECT_EQ(back->client_accuracy()[1], 0.05f);
  EXPECT_TRUE(std::isnan(back->client_accuracy()[4]));
  checkpoint.put_floats("client-accuracy", std::vector<float>(5));
  EXPECT_FALSE(back->restore(checkpoint));
}

}  // namespace
}  // namespace muster
