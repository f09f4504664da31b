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

std::unique_ptr<Models> one_model(std::uint32_t clients, float value = 5) {
  return make_shared_model(*make_aggregator({}, {.parameters = 6, .size = 6, .clients = clients, .alpha = 0}),
                           std::vector<float>(6, value));
}

TEST(RunEvaluation, TellsHowClientsSpread) {
  FakeFederation federation(std::vector<FakeClient>(5, {1, 10}));
  federation.score = [](ClientId client, float) {
    if (client.value == 3) return EvaluateReply{Dropped{client, DropReason::kUnreachable}};
    return EvaluateReply{Evaluation{.samples = 10, .correct = 9 - 2 * client.value, .loss_sum = 1}};
  };
  const auto models = one_model(5);
  const auto evaluation = made(federation);
  RoundRecord record;
  evaluation->enter(*federation.evaluate(evaluation->request(*models, {}, 1)), record);
  ASSERT_TRUE(record.client_spread);
  EXPECT_DOUBLE_EQ(record.client_spread->worst, 0.1);  // of 0.9, 0.7, 0.5, 0.1
  EXPECT_DOUBLE_EQ(record.client_spread->p10, 0.1);
  EXPECT_DOUBLE_EQ(record.client_spread->p50, 0.5);
  EXPECT_DOUBLE_EQ(record.client_spread->p90, 0.9);
  federation.test_samples = 100;
  const auto global = made(federation);
  RoundRecord without;
  global->enter(*federation.evaluate(global->request(*models, {}, 1)), without);
  EXPECT_FALSE(without.client_spread);  // nobody was asked
}

TEST(RunEvaluation, RoundsHaveTheMetricsAskedForAndClientsTellNoMore) {
  FakeFederation federation({{1, 10}, {1, 30}});
  federation.score = [](ClientId client, float) {
    const std::uint32_t samples = client.value == 0 ? 10 : 30;
    return EvaluateReply{Evaluation{.samples = samples, .correct = samples - 10 * client.value, .loss_sum = 3}};
  };
  const auto models = one_model(2);
  const auto record_with = [&](std::vector<std::string> metrics) {
    const auto evaluation = made(federation, {.on = "clients", .metrics = std::move(metrics)});
    RoundRecord record;
    evaluation->enter(*federation.evaluate(evaluation->request(*models, {}, 1)), record);
    return record;
  };
  const RoundRecord none = record_with({});
  EXPECT_FALSE(federation.evaluations.back().details.any());
  EXPECT_FALSE(none.metrics.macro_f1);
  EXPECT_THAT(none.metrics.classes, IsEmpty());
  // All samples are of the first class; 30 of 40 are taken for it, 10 for the second.
  const RoundRecord f1 = record_with({"macro-f1"});
  EXPECT_TRUE(federation.evaluations.back().details.predictions);
  EXPECT_FALSE(federation.evaluations.back().details.scores);
  EXPECT_DOUBLE_EQ(f1.metrics.macro_f1.value(), (60 / 70.0 + 0) / 2);
  EXPECT_THAT(f1.metrics.classes, IsEmpty());
  EXPECT_THAT(f1.metrics.confusion, IsEmpty());
  const RoundRecord tables = record_with({"confusion", "per-class"});
  EXPECT_THAT(tables.metrics.confusion, ElementsAre(ElementsAre(30, 10), ElementsAre(0, 0)));
  ASSERT_EQ(tables.metrics.classes.size(), 2u);
  EXPECT_DOUBLE_EQ(tables.metrics.classes[0].recall.value(), 0.75);
  EXPECT_FALSE(tables.metrics.macro_f1);
  const RoundRecord auc = record_with({"auc"});
  EXPECT_TRUE(federation.evaluations.back().details.scores);
  EXPECT_FALSE(auc.metrics.auc);  // there is one class only
}

TEST(RunEvaluation, MetricsAreOfWhatTheAccuracyIsOf) {
  FakeFederation federation({{1, 10}, {1, 30}});
  federation.test_samples = 4;
  federation.score_global = [](float) {
    return Score{
        .samples = 4,
        .correct = 3,
        .loss_sum = 1,
        .predictions = {
            .counts = {{0, 0, 2}, {1, 1, 1}, {1, 0, 1}}, .negative_scores = {1, 2}, .positive_scores = {2, 3}}};
  };
  const auto evaluation = made(federation, {.on = "both", .metrics = {"confusion", "auc"}});
  RoundRecord record;
  evaluation->enter(*federation.evaluate(evaluation->request(*one_model(2), {}, 1)), record);
  EXPECT_TRUE(federation.evaluations.back().global_details.predictions);
  EXPECT_FALSE(federation.evaluations.back().details.any());
  EXPECT_THAT(record.metrics.confusion, ElementsAre(ElementsAre(2, 0), ElementsAre(1, 1)));
  EXPECT_DOUBLE_EQ(record.metrics.auc.value(), 3.5 / 4);
}

TEST(RunEvaluation, AtTheEndEveryClientIsAskedAlsoWhereRoundsDoNot) {
  FakeFederation federation(
      std::vector<FakeClient>{{1, 10, 1, "north"}, {1, 20, 1, "south"}, {1, 0, 1, "empty"}, {1, 10, 9, "late"}});
  federation.test_samples = 100;
  federation.name_classes({"no", "yes"});
  federation.score_global = [](float) {
    return Score{.samples = 100, .correct = 70, .loss_sum = 5, .predictions = {.counts = {{0, 0, 70}, {1, 0, 30}}}};
  };
  federation.score = [](ClientId client, float) {
    return EvaluateReply{Evaluation{.samples = client.value == 1 ? 20u : 10u, .correct = 9, .loss_sum = 3}};
  };
  const auto evaluation = made(federation);
  const auto models = one_model(4);
  EXPECT_THAT(evaluation->request(*models, {}, 3).clients, IsEmpty());
  EXPECT_THAT(evaluation->client_accuracy(), IsEmpty());
  const EvaluationRequest request = evaluation->final_request(*models, {}, 3);
  EXPECT_FALSE(request.global.empty());
  EXPECT_THAT(ids(request.clients), ElementsAre(0, 1));
  EXPECT_TRUE(request.global_details.predictions);
  EXPECT_TRUE(request.global_details.scores);
  EXPECT_FALSE(request.details.any());
  const RunEvaluation::Final told = evaluation->enter_final(*federation.evaluate(request));
  EXPECT_EQ(told.sites.evaluated, 2u);
  EXPECT_DOUBLE_EQ(told.sites.accuracy.value(), 18 / 30.0);
  EXPECT_DOUBLE_EQ(told.sites.spread->worst, 0.45);
  EXPECT_EQ(told.sites.worst_client, 1u);
  EXPECT_EQ(told.sites.worst_name, "south");
  EXPECT_EQ(told.sites.skipped, "");
  ASSERT_TRUE(told.metrics);
  EXPECT_EQ(told.metrics->classes[1].name, "yes");
  EXPECT_DOUBLE_EQ(told.metrics->classes[0].precision.value(), 0.7);
  EXPECT_THAT(told.metrics->confusion, ElementsAre(ElementsAre(70, 0), ElementsAre(30, 0)));
  ASSERT_EQ(evaluation->client_accuracy().size(), 4u);
  EXPECT_FLOAT_EQ(evaluation->client_accuracy()[0], 0.9f);
  EXPECT_TRUE(std::isnan(evaluation->client_accuracy()[2]));
}

TEST(RunEvaluation, AtTheEndOnlyThoseAreAskedWhomRoundsAsk) {
  FakeFederation federation(std::vector<FakeClient>(50, {1, 10}));
  const auto evaluation = made(federation, {.on = "clients", .clients = {0.2}});
  const auto models = one_model(50);
  const EvaluationRequest request = evaluation->final_request(*models, {}, 1);
  EXPECT_EQ(request.clients, evaluation->request(*models, {}, 1).clients);
  EXPECT_EQ(request.clients.size(), 10u);
  EXPECT_TRUE(evaluation->final_request(*models, {}, 1).details.predictions);
}

TEST(RunEvaluation, SitesThatAreNotAskedAreExplained) {
  FakeFederation many(std::vector<FakeClient>(100'001, {1, 1}));
  many.test_samples = 10;
  const auto evaluation = made(many);
  const auto models = one_model(100'001);
  const EvaluationRequest request = evaluation->final_request(*models, {}, 1);
  EXPECT_THAT(request.clients, IsEmpty());
  EXPECT_FALSE(request.global.empty());
  EXPECT_THAT(evaluation->enter_final(*many.evaluate(request)).sites.skipped,
              HasSubstr("100001 clients have test samples, more than 100000"));
  FakeFederation nobody(std::vector<FakeClient>{{1, 0}});
  const auto nothing = made(nobody);
  const RunEvaluation::Final told =
      nothing->enter_final(*nobody.evaluate(nothing->final_request(*one_model(1), {}, 1)));
  EXPECT_EQ(told.sites.skipped, "no client has test samples of its own");
  EXPECT_FALSE(told.metrics);
  FakeFederation gone(std::vector<FakeClient>{{1, 5}});
  gone.score = [](ClientId client, float) { return EvaluateReply{Dropped{client, DropReason::kUnreachable}}; };
  const auto silent = made(gone);
  EXPECT_EQ(silent->enter_final(*gone.evaluate(silent->final_request(*one_model(1), {}, 1))).sites.skipped,
            "no client answered");
}

TEST(RunEvaluation, ValidationIsDoneByWhomTestsAreDoneBy) {
  FakeFederation federation(
      {{.test_samples = 10, .validation_samples = 4}, {.test_samples = 10, .validation_samples = 6}});
  const auto models = one_model(2);
  EXPECT_TRUE(made(federation)->validates());
  federation.validate = [](ClientId client, float) {
    return EvaluateReply{Evaluation{.samples = client.value == 0 ? 4u : 6u, .correct = 4, .loss_sum = 2}};
  };
  const auto clients = made(federation);
  const EvaluationRequest of_clients = clients->validation_request(*models, {}, 1);
  EXPECT_EQ(of_clients.held_out, HeldOut::kValidation);
  EXPECT_TRUE(of_clients.global.empty());
  RoundRecord record;
  clients->enter_validation(*federation.evaluate(of_clients), record);
  EXPECT_DOUBLE_EQ(record.validation_accuracy.value(), 0.8);
  EXPECT_DOUBLE_EQ(record.validation_loss.value(), 0.4);
  EXPECT_DOUBLE_EQ(record.validation_covered.value(), 1);
  EXPECT_FALSE(record.accuracy);
  // The server has tests, but no validation samples: clients score the model that it would.
  federation.test_samples = 10;
  const EvaluationRequest of_model = made(federation)->validation_request(*models, {}, 1);
  EXPECT_THAT(ids(of_model.clients), ElementsAre(0, 1));
  EXPECT_THAT(of_model.models[0], testing::Each(5));
  federation.validation_samples = 10;
  federation.validate_global = [](float) { return Score{.samples = 10, .correct = 7, .loss_sum = 5}; };
  const auto global = made(federation);
  const EvaluationRequest of_global = global->validation_request(*models, {}, 1);
  EXPECT_THAT(of_global.clients, IsEmpty());
  RoundRecord by_server;
  global->enter_validation(*federation.evaluate(of_global), by_server);
  EXPECT_DOUBLE_EQ(by_server.validation_accuracy.value(), 0.7);
  EXPECT_FALSE(by_server.validation_covered);
  const FakeFederation without(std::vector<FakeClient>{{1, 10}});
  EXPECT_FALSE(made(without)->validates());
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
