// QUAD: two clients with f(w) = a/2 (w - b)^2, (a, b, n) = (1, 0, 1) and (2, 3, 3), from w = 1 with rate 0.1 and two
// exact gradient steps a round. Small enough to work by hand, and it tells every sign error of the algorithms apart.
#include <cmath>
#include <map>

#include "solver/objective.h"
#include "train/thread_host.h"

namespace muster {
namespace {

constexpr double kRate = 0.1;

class QuadraticLink final : public ClientLink {
 public:
  explicit QuadraticLink(const Objective& objective) : objective_(objective) {}

  Result<TrainReply> train(const TrainTask& task, LocalUpdate update) override {
    const std::uint32_t k = task.client.value;
    if (gone.contains(k)) return TrainReply{Dropped{task.client, DropReason::kFault}};
    const double a = k == 0 ? 1 : 2;
    const double b = k == 0 ? 0 : 3;
    ObjectiveInput input{.received = task.model, .broadcast = task.broadcast, .state = {}};
    std::vector<float> state;
    if (const auto known = states.find(k); known != states.end()) {
      state = known->second;
      input.state = state;
    }
    ObjectiveTerm term;
    objective_.begin(input, term);
    double w = task.model[0];
    const float full_gradient = static_cast<float>(a * (w - b));
    for (int step = 0; step < 2; ++step) {
      w -= kRate * (a * (w - b) + term.pull * w - (term.has_drift ? term.drift[0] : 0));
    }
    update.client = task.client;
    update.model = {static_cast<float>(w)};
    update.payload.resize(objective_.has_payload() ? 1 : 0);
    update.samples = k == 0 ? 1 : 3;
    update.steps = 2;
    if (objective_.has_state()) {
      std::vector<float> next(1);
      objective_.end(
          input, {.trained = update.model, .steps = 2, .learning_rate = kRate, .full_gradient = {&full_gradient, 1}},
          next, update.payload);
      states[k] = next;
    }
    return TrainReply{std::move(update)};
  }

  Result<ProfileReply> profile(const ProfileTask& task) override {
    return ProfileReply{Dropped{task.client, DropReason::kUnreachable}};
  }
  Result<EvaluateReply> evaluate(const EvaluateTask&) override { return EvaluateReply{Evaluation{}}; }

  std::map<std::uint32_t, std::vector<float>> states;
  std::map<std::uint32_t, bool> gone;

 private:
  const Objective& objective_;
};

class Quadratic {
 public:
  Quadratic(std::unique_ptr<Objective> objective, const std::string& global, double alpha = 0.1)
      : objective_(std::move(objective)) {
    auto made_link = std::make_unique<QuadraticLink>(*objective_);
    link = made_link.get();
    links_.push_back(std::move(made_link));
    AggregationOptions options;
    options.global = global;
    auto made = make_aggregator(options, {.parameters = 1, .size = 1, .clients = 2, .alpha = alpha});
    EXPECT_TRUE(made.ok());
    aggregator = std::move(made).value();
  }

  // One round with both clients as singletons.
  double round() {
    const ClientId members[] = {ClientId{0}, ClientId{1}};
    std::vector<GroupTask> tasks;
    for (std::uint32_t g = 0; g < 2; ++g) tasks.push_back({.group = GroupId{g}, .members = {&members[g], 1}});
    return run(tasks, *make_parallel(1, true));
  }
  // One round with both clients in one chain.
  double chain(std::vector<ClientId> order) {
    const std::vector<GroupTask> tasks{{.group = GroupId{0}, .members = order}};
    return run(tasks, *make_sequential(1, false, 1));
  }

  std::vector<float> model{1};
  QuadraticLink* link;
  std::unique_ptr<Aggregator> aggregator;

 private:
  double run(std::span<const GroupTask> tasks, const GroupTrainer& trainer) {
    aggregator->begin(model);
    ThreadHost host(pool_, links_, trainer);
    const RoundCall call{.round = ++round_, .models = {model}, .broadcast = aggregator->broadcast()};
    EXPECT_TRUE(host.run(call, tasks, {.group = [&](GroupUpdate& update) { aggregator->add(update); }}).ok());
    aggregator->finish(model);
    return model[0];
  }

  std::unique_ptr<Objective> objective_;
  WorkerPool pool_{1};
  std::vector<std::unique_ptr<ClientLink>> links_;
  std::uint32_t round_ = 0;
};

TEST(Quad, FederatedAveraging) {
  EXPECT_NEAR(Quadratic(make_plain(), "samples-weighted").round(), 1.4925, 1e-6);
  EXPECT_NEAR(Quadratic(make_plain(), "uniform").round(), 1.265, 1e-6);
}

TEST(Quad, Proximal) {
  EXPECT_NEAR(Quadratic(make_prox(0.5), "samples-weighted").round(), 1.47875, 1e-6);
  // A strong pull freezes the client: the term acts on the gradient, and is not a constant added to the loss.
  EXPECT_NEAR(Quadratic(make_prox(9.9), "samples-weighted").round(), 1, 0.5);
  EXPECT_LT(std::abs(Quadratic(make_prox(9.0), "samples-weighted").round() - 1), 0.4925 / 1.5);
}

TEST(Quad, ProximalWithoutWeightIsPlain) {
  Quadratic prox(make_prox(0), "samples-weighted");
  Quadratic plain(make_plain(), "samples-weighted");
  for (int i = 0; i < 5; ++i) EXPECT_EQ(prox.round(), plain.round());
}

TEST(Quad, ControlVariatesFromSteps) {
  Quadratic q(make_control_variate(false), "control-variate");
  EXPECT_NEAR(q.round(), 1.265, 1e-6);
  EXPECT_NEAR(q.aggregator->broadcast()[0], -1.325, 1e-5);
  EXPECT_NEAR(q.link->states[0][0], 0.95, 1e-5);
  EXPECT_NEAR(q.link->states[1][0], -3.6, 1e-5);
  EXPECT_NEAR(q.round(), 1.4685, 1e-5);
  EXPECT_NEAR(q.aggregator->broadcast()[0], -1.0175, 1e-5);
  // With everybody taking part c is the mean of the clients' controls.
  EXPECT_NEAR(q.aggregator->broadcast()[0], (q.link->states[0][0] + q.link->states[1][0]) / 2, 1e-6);
}

TEST(Quad, ControlVariatesFromGradients) {
  Quadratic q(make_control_variate(true), "control-variate");
  q.round();
  EXPECT_NEAR(q.link->states[0][0], 1, 1e-6);
  EXPECT_NEAR(q.link->states[1][0], -4, 1e-6);
  EXPECT_NEAR(q.aggregator->broadcast()[0], -1.5, 1e-6);
}

TEST(Quad, FirstRoundOfControlVariatesIsUniformAveraging) {
  EXPECT_EQ(Quadratic(make_control_variate(false), "control-variate").round(),
            Quadratic(make_plain(), "uniform").round());
}

TEST(Quad, DynamicRegularisation) {
  Quadratic q(make_dynamic(0.1), "dynamic");
  EXPECT_NEAR(q.round(), 1.5270, 1e-5);
  EXPECT_NEAR(q.link->states[0][0], 0.0189, 1e-6);
  EXPECT_NEAR(q.link->states[1][0], -0.0716, 1e-6);
  EXPECT_NEAR(q.aggregator->save().at("correction")[0], -0.02635, 1e-6);
  EXPECT_NEAR(q.round(), 2.0199867, 1e-5);
  EXPECT_NEAR(q.aggregator->save().at("correction")[0], -0.0378243, 1e-6);
}

TEST(Quad, Limits) {
  Quadratic average(make_plain(), "uniform");
  Quadratic scaffold(make_control_variate(false), "control-variate");
  Quadratic dynamic(make_dynamic(0.1), "dynamic");
  Quadratic forth(make_plain(), "uniform");
  Quadratic back(make_plain(), "uniform");
  for (int i = 0; i < 100; ++i) dynamic.round();
  EXPECT_NEAR(dynamic.model[0], 1.994381, 1e-5);
  for (int i = 0; i < 400; ++i) {
    average.round();
    scaffold.round();
    forth.chain({ClientId{0}, ClientId{1}});
    back.chain({ClientId{1}, ClientId{0}});
  }
  EXPECT_NEAR(average.model[0], 1.963636, 1e-5);
  EXPECT_NEAR(scaffold.model[0], 2.0, 1e-5);
  EXPECT_NEAR(forth.model[0], 2.242525, 1e-5);
  EXPECT_NEAR(back.model[0], 1.816445, 1e-5);
}

TEST(Quad, FirstStepsOfChains) {
  EXPECT_NEAR(Quadratic(make_plain(), "uniform").chain({ClientId{0}, ClientId{1}}), 1.5984, 1e-5);
  EXPECT_NEAR(Quadratic(make_plain(), "uniform").chain({ClientId{1}, ClientId{0}}), 1.3932, 1e-5);
}

TEST(Quad, AnyMemberMayVanish) {
  Quadratic chain(make_plain(), "uniform");
  chain.link->gone[0] = true;  // the successor starts from the last good model: the one that was sent
  EXPECT_NEAR(chain.chain({ClientId{0}, ClientId{1}}), 1.72, 1e-6);
  Quadratic parallel(make_plain(), "samples-weighted");
  parallel.link->gone[1] = true;
  EXPECT_NEAR(parallel.round(), 0.81, 1e-6);
  parallel.link->gone[0] = true;
  EXPECT_NEAR(parallel.round(), 0.81, 1e-6);
}

TEST(Quad, ChainOfOneIsParallelOfOne) {
  const ClientId only[] = {ClientId{1}};
  const std::vector<float> start{1};
  const auto objective = make_plain();
  QuadraticLink link(*objective);
  const RoundCall call{.round = 1, .models = {start}};
  const GroupTask task{.group = GroupId{0}, .members = only};
  const auto a = make_parallel(1, true)->train(call, task, link, {});
  const auto b = make_sequential(1, true, 9)->train(call, task, link, {});
  ASSERT_TRUE(a.ok() && b.ok());
  EXPECT_EQ(a->model, b->model);
  EXPECT_EQ(a->samples, b->samples);
}

}  // namespace
}  // namespace muster
