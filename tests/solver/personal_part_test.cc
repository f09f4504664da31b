// What a client keeps to itself: a part of the model, a model of its own, or nothing of what an evaluation tuned.
#include <cmath>
#include <limits>

#include "solver/local_solver.h"
#include "solver/points.h"

namespace muster {
namespace {

using testing::Each;
using testing::FloatNear;
using testing::IsEmpty;
using testing::Pointwise;

std::vector<Point> cloud(std::uint32_t count, std::uint64_t seed) {
  Stream stream({.seed = seed, .purpose = Purpose::kTest});
  std::vector<Point> points;
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto x0 = static_cast<float>(stream.normal());
    const auto x1 = static_cast<float>(stream.normal());
    points.push_back({x0, x1, x0 - 0.4f * x1 > 0.1f ? 1 : 0});
  }
  return points;
}

// Two clients and a network of two layers: 2 x 3 + 3 parameters, then the head's 3 x 2 + 2.
struct PersonalBench {
  explicit PersonalBench(const LocalOptions& local)
      : data({cloud(24, 1), cloud(17, 2)}, {cloud(40, 3), cloud(40, 4)}),
        network(*make_network({.name = "mlp", .hidden = {3}}, data.shape(), data.classes())),
        objective(std::move(make_objective(local.objective)).value()),
        parts(model_parts(*network, local).value()),
        solver(network, data, local, {}, *objective, states, 3, parts) {}

  [[nodiscard]] std::vector<float> initial(std::uint64_t seed = 7) const {
    std::vector<float> model(network->size());
    Stream stream({.seed = seed, .purpose = Purpose::kTest});
    network->initialise(model, stream);
    return model;
  }
  TrainReply reply(TrainTask task) {
    if (task.round == 0) task.round = 1;
    auto result = solver.train(task);
    EXPECT_TRUE(result.ok()) << result.error().message;
    return std::move(result).value();
  }
  LocalUpdate train(const TrainTask& task) {
    TrainReply answer = reply(task);
    EXPECT_TRUE(std::holds_alternative<LocalUpdate>(answer));
    return std::get<LocalUpdate>(std::move(answer));
  }
  std::vector<float> state(ClientId client, std::uint8_t slot, std::size_t size) {
    std::vector<float> values(size);
    const auto present = states.get(client, slot, values);
    EXPECT_TRUE(present.ok());
    return present.ok() && *present ? values : std::vector<float>();
  }
  Evaluation score(std::span<const float> model, ClientId client, std::uint32_t round = 1) {
    return solver.evaluate_client({.client = client, .model = model, .round = round}).value();
  }

  Points data;
  std::shared_ptr<const Network> network;
  ClientStates states{{}};
  std::unique_ptr<Objective> objective;
  ModelParts parts;
  LocalSolver solver;
};

constexpr std::size_t kBody = 9;
constexpr std::size_t kHead = 8;

LocalOptions usual() {
  return {.epochs = 2, .batch_size = 8, .learning_rate = 0.3, .momentum = 0.5, .weight_decay = 0.01};
}

std::vector<float> body(const std::vector<float>& model) {
  return {model.begin(), model.begin() + kBody};
}
std::vector<float> head(const std::vector<float>& model) {
  return {model.begin() + kBody, model.end()};
}
std::vector<float> put_together(std::vector<float> front, const std::vector<float>& back) {
  front.insert(front.end(), back.begin(), back.end());
  return front;
}

TEST(PersonalPart, StaysWithItsClientAndIsTrainedOn) {
  LocalOptions local = usual();
  PersonalBench plain(local);
  local.personal = {"head"};
  PersonalBench bench(local);
  const std::vector<float> first = bench.initial();
  const std::vector<float> expected = plain.train({.client = kFirst, .model = first}).model;
  const LocalUpdate sent = bench.train({.client = kFirst, .model = first});
  EXPECT_EQ(body(sent.model), body(expected));
  EXPECT_EQ(head(sent.model), head(first)) << "the server gets back what it sent";
  EXPECT_EQ(bench.state(kFirst, kPersonalSlot, kHead), head(expected));
  EXPECT_EQ(bench.states.size(), 1u);

  // The next time it trains another body with its own head.
  const std::vector<float> second = bench.initial(8);
  const std::vector<float> own = put_together(body(second), head(expected));
  const std::vector<float> then = plain.train({.client = kFirst, .round = 2, .model = own}).model;
  EXPECT_EQ(bench.train({.client = kFirst, .round = 2, .model = second}).model, put_together(body(then), head(second)));
  EXPECT_EQ(bench.state(kFirst, kPersonalSlot, kHead), head(then));
}

TEST(PersonalPart, IsWhatTheClientIsScoredWith) {
  LocalOptions local = usual();
  PersonalBench plain(local);
  local.personal = {"head"};
  PersonalBench bench(local);
  const std::vector<float> first = bench.initial();
  const std::vector<float> other = bench.initial(8);
  bench.train({.client = kFirst, .model = first});
  const std::vector<float> own = put_together(body(other), bench.state(kFirst, kPersonalSlot, kHead));
  EXPECT_EQ(bench.score(other, kFirst).loss_sum, plain.score(own, kFirst).loss_sum);
  EXPECT_EQ(bench.score(other, kSecond).loss_sum, plain.score(other, kSecond).loss_sum) << "has none yet";
  Rows<float> models(1, other.size());
  models.values = other;
  EXPECT_EQ(bench.solver.evaluate_training(models, kFirst)->front().loss_sum,
            plain.solver.evaluate_training({own, own.size()}, kFirst)->front().loss_sum);
}

TEST(PersonalPart, IsNotToldByWhatTheObjectiveSends) {
  LocalOptions local{.epochs = 1, .batch_size = 8, .learning_rate = 0.3};
  local.objective.name = "control-variate";
  local.personal = {"head"};
  PersonalBench bench(local);
  const LocalUpdate sent = bench.train({.client = kFirst, .model = bench.initial()});
  EXPECT_THAT(head(sent.payload), Each(0.0f));
  EXPECT_THAT(head(bench.state(kFirst, kObjectiveSlot, kBody + kHead)), Each(0.0f));
  EXPECT_NE(body(sent.payload), std::vector<float>(kBody, 0.0f));
}

TEST(PersonalPart, OfABrokenTaskOrATrialIsNotKept) {
  LocalOptions local = usual();
  local.personal = {"body"};
  PersonalBench bench(local);
  const std::vector<float> model = bench.initial();
  bench.train({.client = kFirst, .model = model});
  const std::vector<float> kept = bench.state(kFirst, kPersonalSlot, kBody);
  std::vector<float> broken = model;
  broken.front() = std::numeric_limits<float>::quiet_NaN();  // where the client would put its own
  EXPECT_TRUE(std::holds_alternative<Dropped>(bench.reply({.client = kFirst, .round = 2, .model = broken})));
  const LocalUpdate trial = bench.train({.client = kFirst, .round = 2, .model = model, .trial = LocalWork{}});
  EXPECT_NE(body(trial.model), body(model)) << "a profile tells what training from the given model does";
  EXPECT_EQ(bench.state(kFirst, kPersonalSlot, kBody), kept);
}

TEST(PersonalPart, IsTrainedAloneFirstThenTheRestWithoutIt) {
  LocalOptions local = usual();
  local.freeze = {"body"};
  PersonalBench heads(local);
  local.freeze = {"head"};
  local.epochs = 1;
  PersonalBench bodies(local);
  local.freeze = {};
  local.personal = {"head"};
  local.personal_epochs = 2;
  PersonalBench bench(local);
  const std::vector<float> model = bench.initial();
  const std::vector<float> own_head = head(heads.train({.client = kFirst, .model = model}).model);
  const LocalUpdate sent = bench.train({.client = kFirst, .model = model});
  EXPECT_EQ(bench.state(kFirst, kPersonalSlot, kHead), own_head);
  EXPECT_EQ(head(sent.model), head(model));
  EXPECT_EQ(sent.steps, 3u) << "those that moved what is sent";
  EXPECT_EQ(sent.samples_trained, 3 * 24u);
  // The body's epoch is the third of the task, and draws other batches than the first: about the same.
  const std::vector<float> then = bodies.train({.client = kFirst, .model = put_together(body(model), own_head)}).model;
  EXPECT_THAT(body(sent.model), Pointwise(FloatNear(0.2f), body(then)));
  EXPECT_NE(body(sent.model), body(model));
}

TEST(FrozenPart, StaysAsReceivedFromItsRoundOn) {
  LocalOptions local = usual();
  local.objective = {.name = "prox", .mu = 0.5};
  PersonalBench plain(local);
  local.freeze = {"body"};
  local.freeze_from = 2;
  PersonalBench bench(local);
  const std::vector<float> model = bench.initial();
  EXPECT_EQ(bench.train({.client = kFirst, .round = 1, .model = model}).model,
            plain.train({.client = kFirst, .round = 1, .model = model}).model);
  const std::vector<float> after = bench.train({.client = kFirst, .round = 2, .model = model}).model;
  EXPECT_EQ(body(after), body(model));
  EXPECT_NE(head(after), head(model));
}

TEST(OwnModel, LeavesTheSentOneAloneAndWithoutAPullIsThatOfAClientAlone) {
  LocalOptions local = usual();
  PersonalBench plain(local);
  local.own_model = 0;
  PersonalBench bench(local);
  PersonalBench alone(usual());
  const std::vector<float> first = bench.initial();
  for (const std::uint32_t round : {1u, 2u}) {
    const std::vector<float> sent = round == 1 ? first : bench.initial(8);
    const LocalUpdate expected = plain.train({.client = kFirst, .round = round, .model = sent});
    const LocalUpdate update = bench.train({.client = kFirst, .round = round, .model = sent});
    EXPECT_EQ(update.model, expected.model);
    EXPECT_EQ(update.loss, expected.loss);
    EXPECT_EQ(update.steps, expected.steps);
    EXPECT_EQ(update.samples_trained, 2 * expected.samples_trained);
    alone.train({.client = kFirst, .round = round, .model = first, .own_model = true});
    EXPECT_EQ(bench.state(kFirst, kModelSlot, first.size()), alone.state(kFirst, kModelSlot, first.size()));
  }
  const std::vector<float> own = bench.state(kFirst, kModelSlot, first.size());
  EXPECT_EQ(bench.score(first, kFirst).loss_sum, plain.score(own, kFirst).loss_sum);
  EXPECT_EQ(bench.score(first, kSecond).loss_sum, plain.score(first, kSecond).loss_sum);
}

// One full batch: v <- v - rate (g(v) + lambda (v - w)).
TEST(OwnModel, IsDrawnToTheReceivedOne) {
  LocalOptions local{.epochs = 1, .batch_size = 32, .learning_rate = 0.3};
  PersonalBench plain(local);
  local.own_model = 0.5;
  PersonalBench bench(local);
  const std::vector<float> first = bench.initial();
  const std::vector<float> second = bench.initial(8);
  bench.train({.client = kFirst, .round = 1, .model = first});
  const std::vector<float> own = bench.state(kFirst, kModelSlot, first.size());
  EXPECT_THAT(own, Pointwise(FloatNear(1e-6f), plain.train({.client = kFirst, .model = first}).model))
      << "it begins where it is drawn to";
  bench.train({.client = kFirst, .round = 2, .model = second});
  std::vector<float> expected = plain.train({.client = kFirst, .round = 2, .model = own}).model;
  for (std::size_t i = 0; i < expected.size(); ++i) expected[i] -= 0.3f * 0.5f * (own[i] - second[i]);
  EXPECT_THAT(bench.state(kFirst, kModelSlot, first.size()), Pointwise(FloatNear(1e-5f), expected));
}

TEST(FineTuning, IsForTheScoreAndLeavesNothing) {
  LocalOptions local = usual();
  PersonalBench plain(local);
  local.fine_tune = 2;
  PersonalBench bench(local);
  const std::vector<float> model = bench.initial();
  EXPECT_EQ(bench.train({.client = kFirst, .model = model}).model,
            plain.train({.client = kFirst, .model = model}).model);
  const std::vector<float> tuned = plain.train({.client = kSecond, .round = 3, .part = 65534, .model = model}).model;
  const Evaluation scored = bench.score(model, kSecond, 3);
  EXPECT_EQ(scored.loss_sum, plain.score(tuned, kSecond).loss_sum);
  EXPECT_EQ(bench.score(model, kSecond, 3).loss_sum, scored.loss_sum) << "again, and again from the model given";
  EXPECT_LT(scored.loss_sum, plain.score(model, kSecond).loss_sum);
  EXPECT_EQ(bench.states.size(), 0u);
}

TEST(ModelParts, LeaveSomethingToTrain) {
  const auto network = make_network({.name = "mlp", .hidden = {3}}, {1, 1, 2}, 2).value();
  LocalOptions local;
  local.freeze = {"head", "body"};
  EXPECT_EQ(model_parts(*network, local).error().message,
            "local.freeze: [\"head\", \"body\"] is all that is trained; want a part of the network");
  local.freeze = {};
  local.personal = {"all"};
  EXPECT_THAT(model_parts(*network, local)->shared, IsEmpty());
  local.personal_epochs = 1.5;
  EXPECT_EQ(model_parts(*network, local).error().message,
            "local.personal-epochs: 1.5, but local.personal leaves nothing to train after them");
}

}  // namespace
}  // namespace muster
