// A federation on threads: what is scored with which model, whatever else goes on, and at any number of threads.
#include "train/local_federation.h"

#include "base/random.h"
#include "recording_link.h"

namespace muster {
namespace {

using testing::ElementsAre;

// Forty clients with test samples of their own, and a server with more than a piece of them.
struct World {
  explicit World(std::uint32_t threads, LocalFederationOptions options = {}) {
    options.threads = threads;
    options.local.learning_rate = 0.1;
    auto made = LocalFederation::make(data(), network(), options);
    EXPECT_TRUE(made.ok());
    federation = std::move(made).value();
  }
  static const FederatedData& data() {
    static const std::unique_ptr<FederatedData> made = [] {
      auto result = make_federated_data(
          {.source = "blobs", .partition = "dirichlet", .clients = 40, .alpha = 0.3, .test_fraction = 0.3}, 1);
      EXPECT_TRUE(result.ok()) << result.error().message;
      return std::move(result).value();
    }();
    return *made;
  }
  static std::shared_ptr<const Network> network() {
    static const auto made = std::move(make_network({.name = "softmax"}, data().shape(), data().classes())).value();
    return made;
  }
  static std::vector<float> model(std::uint32_t part) {
    std::vector<float> flat(network()->size());
    Stream stream({.seed = 1, .purpose = Purpose::kInitialise, .part = part});
    network()->initialise(flat, stream);
    return flat;
  }
  // All clients in turn with the models.
  static EvaluationRequest request(const std::vector<std::vector<float>>& models, std::uint32_t clients = 40) {
    EvaluationRequest made{.global = models.back()};
    for (const auto& flat : models) made.models.push_back(flat);
    for (std::uint32_t k = 0; k < clients; ++k) {
      made.clients.push_back({k});
      made.model_of.push_back(static_cast<std::uint32_t>(k * 7 % models.size()));
    }
    return made;
  }
  EvaluationResult evaluate(EvaluationRequest asked) {
    auto result = federation->evaluate(std::move(asked));
    EXPECT_TRUE(result.ok());
    return std::move(result).value();
  }
  Status train(std::span<const ClientId> clients, std::span<const float> model, bool own_models,
               std::vector<GroupUpdate>* updates = nullptr) {
    std::vector<GroupTask> tasks;
    for (std::uint32_t i = 0; i < clients.size(); ++i) {
      tasks.push_back({.group = {i}, .members = clients.subspan(i, 1)});
    }
    return federation->train({.round = 1, .models = {model}, .own_models = own_models}, tasks,
                             {.group = [&](GroupUpdate& update) {
                               if (updates) updates->push_back(update);
                             }});
  }
  std::unique_ptr<LocalFederation> federation;
};

double loss_of(const EvaluateReply& reply) {
  return std::get<Evaluation>(reply).loss_sum;
}
std::vector<double> losses(const EvaluationResult& result) {
  std::vector<double> all;
  for (const EvaluateReply& reply : result.clients) all.push_back(loss_of(reply));
  if (result.global) all.push_back(result.global->loss_sum);
  return all;
}

TEST(LocalFederation, EveryClientScoresTheModelItIsGiven) {
  World world(1);
  const std::vector<std::vector<float>> models{World::model(1), World::model(2), World::model(3)};
  const EvaluationResult result = world.evaluate(World::request(models));
  LocalSolver& solver = world.federation->solver(0);
  std::uint64_t samples = 0;
  for (std::uint32_t k = 0; k < 40; ++k) {
    const auto alone = solver.evaluate_client({.client = {k}, .model = models[k * 7 % 3]});
    ASSERT_TRUE(alone.ok());
    EXPECT_EQ(loss_of(result.clients[k]), alone->loss_sum) << k;
    EXPECT_EQ(std::get<Evaluation>(result.clients[k]).correct, alone->correct) << k;
    samples += alone->samples;
  }
  EXPECT_GT(samples, 0u);
  ASSERT_TRUE(result.global);
  const std::size_t tested = World::data().global_test().size();
  ASSERT_GT(tested, 512u);
  EXPECT_EQ(result.global->samples, tested);
  const Evaluation whole = solver.evaluate(models[2], World::data().global_test());
  EXPECT_EQ(result.global->correct, whole.correct);
  EXPECT_NEAR(result.global->loss_sum, whole.loss_sum, 1e-6 * whole.loss_sum);
}

TEST(LocalFederation, ScoresAreEqualAtAnyNumberOfThreads) {
  const std::vector<std::vector<float>> models{World::model(1), World::model(2)};
  World one(1);
  const std::vector<double> expected = losses(one.evaluate(World::request(models)));
  for (const std::uint32_t threads : {2u, 5u}) {
    World several(threads);
    EXPECT_EQ(losses(several.evaluate(World::request(models))), expected) << threads;
  }
}

// Every pair of classes that the request's models made, with scores left out: there are ten classes.
std::vector<PredictionCount> counts(const EvaluationResult& result) {
  std::vector<PredictionCount> all = result.global->predictions.counts;
  for (const EvaluateReply& reply : result.clients) {
    const auto& own = std::get<Evaluation>(reply).predictions->counts;
    all.insert(all.end(), own.begin(), own.end());
  }
  return all;
}

TEST(LocalFederation, DetailsAreEqualAtAnyNumberOfThreadsAndChangeNoScore) {
  const std::vector<std::vector<float>> models{World::model(1), World::model(2)};
  EvaluationRequest request = World::request(models);
  request.details.predictions = request.global_details.predictions = true;
  World one(1);
  const EvaluationResult result = one.evaluate(request);
  EXPECT_EQ(losses(result), losses(one.evaluate(World::request(models))));
  std::uint64_t samples = 0;
  std::uint64_t correct = 0;
  for (const PredictionCount& count : result.global->predictions.counts) {
    samples += count.samples;
    correct += count.label == count.predicted ? count.samples : 0;
  }
  EXPECT_EQ(samples, result.global->samples);
  EXPECT_EQ(correct, result.global->correct);
  EXPECT_GT(correct, 0u);
  World three(3);
  EXPECT_EQ(counts(three.evaluate(request)), counts(result));
}

TEST(LocalFederation, ValidationSamplesAreScoredByTheServerAndByClients) {
  const auto data =
      make_federated_data({.source = "blobs", .partition = "iid", .clients = 5, .validation_fraction = 0.2}, 1);
  ASSERT_TRUE(data.ok());
  const auto made = LocalFederation::make(**data, World::network(), {.threads = 1});
  ASSERT_TRUE(made.ok());
  Federation& federation = **made;
  const std::vector<float> model = World::model(1);
  std::uint64_t samples = 0;
  EvaluationRequest request{.held_out = HeldOut::kValidation, .global = model, .models = {model}};
  for (std::uint32_t k = 0; k < 5; ++k) {
    request.clients.push_back({k});
    request.model_of.push_back(0);
    EXPECT_GT(federation.roster().validation_samples({k}), 0u);
    samples += federation.roster().validation_samples({k});
  }
  EXPECT_EQ(federation.global_validation_samples(), samples);
  const auto result = federation.evaluate(request);
  ASSERT_TRUE(result.ok());
  Score all;
  for (const EvaluateReply& reply : result->clients) all.add(std::get<Evaluation>(reply));
  EXPECT_EQ(all.samples, samples);
  EXPECT_EQ(all.correct, result->global->correct);
  EXPECT_NEAR(all.loss_sum, result->global->loss_sum, 1e-6 * all.loss_sum);
}

TEST(LocalFederation, AModelThatChangedInPlaceIsLoadedAgain) {
  World world(1);
  std::vector<std::vector<float>> models{World::model(1)};
  const std::vector<double> before = losses(world.evaluate(World::request(models)));
  const std::vector<float> other = World::model(2);
  std::ranges::copy(other, models[0].begin());
  const std::vector<double> after = losses(world.evaluate(World::request(models)));
  EXPECT_NE(after, before);
  World fresh(1);
  EXPECT_EQ(after, losses(fresh.evaluate(World::request({other}))));
  // Also where nothing else is loaded in between.
  const auto alone = [&] {
    EvaluationRequest request = World::request(models);
    request.global = {};
    return losses(world.evaluate(std::move(request)));
  };
  const std::vector<double> second = alone();
  std::ranges::copy(World::model(3), models[0].begin());
  EXPECT_NE(alone(), second);
}

TEST(LocalFederation, AnUntrainedClientScoresTheGivenModelAndNotItsPredecessors) {
  World world(1);
  const std::vector<float> start = World::model(1);
  const std::vector<ClientId> trained{{0}, {3}};
  ASSERT_TRUE(world.train(trained, start, true).ok());
  const std::vector<double> given = losses(world.evaluate(World::request({start}, 5)));
  const std::vector<std::vector<float>> models{start};
  EvaluationRequest request = World::request(models, 5);
  request.own_models = true;
  const std::vector<double> own = losses(world.evaluate(request));
  for (std::uint32_t k = 0; k < 5; ++k) {
    if (k == 0 || k == 3) {
      EXPECT_LT(own[k], given[k]) << k;
    } else {
      EXPECT_EQ(own[k], given[k]) << k;
    }
  }
}

TEST(LocalFederation, EvaluationBesideTrainingIsTheSame) {
  for (const std::uint32_t threads : {1u, 3u}) {
    World world(threads);
    const std::vector<std::vector<float>> models{World::model(1), World::model(2)};
    const std::vector<ClientId> clients = clients_up_to(12);
    std::vector<GroupUpdate> alone;
    ASSERT_TRUE(world.train(clients, models[0], false, &alone).ok());
    const std::vector<double> expected = losses(world.evaluate(World::request(models)));
    world.federation->begin_evaluation(World::request(models));
    std::vector<GroupUpdate> beside;
    ASSERT_TRUE(world.train(clients, models[0], false, &beside).ok());
    auto result = world.federation->end_evaluation();
    ASSERT_TRUE(result.ok());
    EXPECT_EQ(losses(*result), expected);
    EXPECT_EQ(result->seconds, 0);
    EXPECT_GT(result->beside_training_s, 0);
    ASSERT_EQ(beside.size(), alone.size());
    for (std::size_t i = 0; i < alone.size(); ++i) EXPECT_EQ(beside[i].model, alone[i].model);
    // The next one is not thought to be done already.
    EXPECT_EQ(losses(world.evaluate(World::request({models[1]}))), losses(world.evaluate(World::request({models[1]}))));
    EXPECT_NE(losses(world.evaluate(World::request({models[1]}))), expected);
  }
}

TEST(LocalFederation, TheRosterTellsWhoComesLate) {
  LocalFederationOptions options;
  options.late = {2, 5};
  options.late_round = 4;
  World world(1, options);
  const Roster& roster = world.federation->roster();
  EXPECT_EQ(roster.clients(), 40u);
  for (std::uint32_t k = 0; k < 40; ++k) {
    EXPECT_EQ(roster.since_round({k}), k == 2 || k == 5 ? 4u : 1u);
    EXPECT_EQ(roster.train_samples({k}), World::data().train_count({k}));
    EXPECT_EQ(roster.test_samples({k}), World::data().test_count({k}));
  }
}

TEST(LocalFederation, TheRosterTellsTheEdges) {
  const auto data = make_federated_data({.source = "blobs", .clients = 6, .edges = 2}, 1);
  ASSERT_TRUE(data.ok());
  const auto made = LocalFederation::make(**data, World::network(), {.threads = 1});
  ASSERT_TRUE(made.ok());
  const Roster& roster = (*made)->roster();
  EXPECT_EQ(roster.edges(), 2u);
  std::vector<std::uint32_t> clients_of_edge(2);
  for (std::uint32_t k = 0; k < 6; ++k) {
    EXPECT_EQ(roster.edge({k}), (*data)->edge({k}));
    ++clients_of_edge[roster.edge({k})];
  }
  EXPECT_GT(clients_of_edge[1], 0u);
}

TEST(LocalFederation, ChainsAreShuffledByItsSeed) {
  LocalFederationOptions options;
  options.seed = 7;
  options.training = {.mode = "sequential", .passes = 1, .shuffle = true};
  World world(1, options);
  const std::vector<ClientId> clients = clients_up_to(6);
  const std::vector<float> start = World::model(1);
  std::vector<std::uint32_t> order;
  const std::vector<GroupTask> tasks{{.group = {3}, .members = clients}};
  ASSERT_TRUE(world.federation
                  ->train({.round = 2, .models = {start}}, tasks,
                          {.group =
                               [&](GroupUpdate& update) {
                                 for (const MemberReport& member : update.members) order.push_back(member.client.value);
                               }})
                  .ok());
  std::vector<std::uint32_t> expected{0, 1, 2, 3, 4, 5};
  Stream stream({.seed = 7, .purpose = Purpose::kClientOrder, .round = 2, .id = 3, .part = 0});
  stream.shuffle(std::span(expected));
  EXPECT_EQ(order, expected);
}

TEST(LocalFederation, WhatWasScoredBesideOneTrainingIsNotScoredAgainBesideTheNext) {
  World world(1);
  std::vector<std::vector<float>> models{World::model(1)};
  const std::vector<ClientId> clients = clients_up_to(3);
  const std::vector<float> start = World::model(1);
  const std::vector<double> expected = losses(world.evaluate(World::request(models)));
  world.federation->begin_evaluation(World::request(models));
  ASSERT_TRUE(world.train(clients, start, false).ok());
  std::ranges::copy(World::model(2), models[0].begin());
  ASSERT_TRUE(world.train(clients, start, false).ok());
  auto result = world.federation->end_evaluation();
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(losses(*result), expected);
}

TEST(LocalFederation, WhetherStragglersCountDependsOnObjectiveAndRecipe) {
  const auto drops = [](const char* objective, const char* stragglers) {
    LocalFederationOptions options;
    options.local.objective.name = objective;
    options.local.epochs = 3;
    options.faults = {.straggle = 1, .stragglers = stragglers};
    World world(1, options);
    std::vector<GroupUpdate> updates;
    const std::vector<ClientId> clients = clients_up_to(3);
    EXPECT_TRUE(world.train(clients, World::model(1), false, &updates).ok());
    std::size_t dropped = 0;
    for (const GroupUpdate& update : updates) dropped += update.dropped.size();
    return dropped;
  };
  EXPECT_EQ(drops("plain", ""), 3u);
  EXPECT_EQ(drops("prox", ""), 0u);
  EXPECT_EQ(drops("plain", "partial"), 0u);
  EXPECT_EQ(drops("prox", "drop"), 3u);
}

TEST(LocalFederation, RemembersWhatItsClientsKept) {
  World world(1);
  const std::vector<float> start = World::model(1);
  const std::vector<ClientId> trained{{0}, {3}};
  ASSERT_TRUE(world.train(trained, start, true).ok());
  const auto saved = world.federation->save();
  ASSERT_TRUE(saved.ok());
  World other(1);
  ASSERT_TRUE(other.federation->restore(*saved).ok());
  const std::vector<std::vector<float>> models{start};
  EvaluationRequest request = World::request(models, 5);
  request.own_models = true;
  EXPECT_EQ(losses(other.evaluate(request)), losses(world.evaluate(request)));
}

TEST(LocalFederation, ProfilesAreAskedAsTheRequestSays) {
  LocalFederationOptions options;
  options.profile = {.kind = "update-direction", .steps = 1};
  options.local.batch_size = 100000;
  options.local.learning_rate_decay = 0.5;
  options.faults.drop = 0.5;
  World world(2, options);
  const std::vector<float> start = World::model(1);
  const std::vector<ClientId> clients = clients_up_to(40);
  const auto ask = [&](std::uint32_t round, std::uint32_t as_of) {
    auto told = world.federation->profile(
        {.clients = clients, .round = round, .as_of_round = as_of, .models = {start, start.size()}});
    EXPECT_TRUE(told.ok());
    return std::move(told).value();
  };
  const CollectedProfiles first = ask(6, 1);
  const CollectedProfiles later = ask(6, 2);
  EXPECT_EQ(first.profiles.missing, later.profiles.missing);
  EXPECT_NE(first.profiles.missing, ask(7, 1).profiles.missing);
  for (std::uint32_t k = 0; k < 40; ++k) {
    EXPECT_EQ(std::ranges::binary_search(first.profiles.missing, k),
              draw_fault(options.faults, options.seed, 6, {k}).drop);
  }
  const auto answered = std::ranges::find_if(
      clients, [&](ClientId client) { return !std::ranges::binary_search(first.profiles.missing, client.value); });
  const std::span<const float> a = first.profiles.vectors.row(answered->value);
  const std::span<const float> b = later.profiles.vectors.row(answered->value);
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(b[i], a[i] / 2, 1e-6);
}

}  // namespace
}  // namespace muster
