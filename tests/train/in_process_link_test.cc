// Clients of this process with faults: who vanishes, who is late, who sends garbage, and when.
#include <cmath>

#include "solver/local_solver.h"
#include "solver/points.h"
#include "train/client_link.h"

namespace muster {
namespace {

constexpr std::uint64_t kRunSeed = 3;
const std::vector<float> kStart{1, 1, 2, 2, 3, 3};

struct Client {
  explicit Client(LocalOptions local = {.batch_size = 8, .learning_rate = 0.4},
                  const ProfileOptions& profile = {.kind = "update-direction", .steps = 1})
      : kind(std::move(make_profile_kind(profile)).value()),
        solver(network, data, std::move(local), Augmentation{}, *objective, states, kRunSeed) {}

  std::unique_ptr<ClientLink> link(const FaultOptions& faults, bool partial = false) {
    return make_in_process_link(solver, *kind, faults, partial, kRunSeed);
  }
  static TrainReply train(ClientLink& link, bool own_model = false, std::uint32_t client = 0) {
    auto reply = link.train({.client = {client}, .round = 1, .model = kStart, .own_model = own_model}, {});
    EXPECT_TRUE(reply.ok());
    return std::move(reply).value();
  }
  static ProfileReply tell(ClientLink& link, std::uint32_t client, std::uint32_t round, std::uint32_t asked_in) {
    auto reply = link.profile({.client = {client},
                               .kind = "update-direction",
                               .round = round,
                               .asked_in = asked_in,
                               .models = {kStart, kStart.size()}});
    EXPECT_TRUE(reply.ok());
    return std::move(reply).value();
  }

  std::vector<Point> pair{{1, 0, 0}, {0, 1, 1}};
  Points data{std::vector<std::vector<Point>>(40, pair), std::vector<std::vector<Point>>(40, pair)};
  std::shared_ptr<const Network> network = *make_network({.name = "softmax"}, data.shape(), data.classes());
  ClientStates states{{}};
  std::unique_ptr<Objective> objective = make_plain();
  std::unique_ptr<ProfileKind> kind;
  LocalSolver solver;
};

DropReason reason_of(const TrainReply& reply) {
  const auto* const dropped = std::get_if<Dropped>(&reply);
  EXPECT_TRUE(dropped);
  return dropped ? dropped->reason : DropReason::kNoSamples;
}

TEST(InProcessLink, FaultsHaveTheirReasons) {
  Client client;
  EXPECT_EQ(reason_of(Client::train(*client.link({.drop = 1}))), DropReason::kFault);
  EXPECT_EQ(reason_of(Client::train(*client.link({.straggle = 1}))), DropReason::kStraggler);
  EXPECT_EQ(reason_of(Client::train(*client.link({.nan = 1}))), DropReason::kNonFinite);
  EXPECT_TRUE(std::holds_alternative<LocalUpdate>(Client::train(*client.link({}))));
}

TEST(InProcessLink, GarbageIsNoticedAlsoWhereClientsKeepTheirModels) {
  Client client;
  const auto clean = client.link({});
  const auto first = std::get<LocalUpdate>(Client::train(*clean, true));
  EXPECT_EQ(reason_of(Client::train(*client.link({.nan = 1}), true)), DropReason::kNonFinite);
  // And what the client keeps is untouched: it goes on from its first model.
  const auto second = std::get<LocalUpdate>(Client::train(*clean, true));
  Client other;
  const auto own = other.link({});
  EXPECT_EQ(std::get<LocalUpdate>(Client::train(*own, true)).model, first.model);
  EXPECT_EQ(std::get<LocalUpdate>(Client::train(*own, true)).model, second.model);
}

TEST(InProcessLink, AStragglerDoesLessWherePartialWorkCounts) {
  LocalOptions local{.epochs = 10, .batch_size = 1, .learning_rate = 0.01};
  Client client(local);
  const auto whole = std::get<LocalUpdate>(Client::train(*client.link({})));
  EXPECT_EQ(whole.steps, 20u);
  const auto late = client.link({.straggle = 1}, true);
  bool differ = false;
  std::uint64_t before = 0;
  for (std::uint32_t k = 0; k < 10; ++k) {
    const auto part = std::get<LocalUpdate>(Client::train(*late, false, k));
    EXPECT_LT(part.steps, whole.steps);
    EXPECT_GE(part.steps, 2u);  // one epoch at least
    differ = differ || (k > 0 && part.steps != before);
    before = part.steps;
  }
  EXPECT_TRUE(differ);
}

TEST(InProcessLink, ProfilesFollowTheFaultsOfTheRoundTheyAreAskedIn) {
  Client client;
  const FaultOptions faults{.drop = 0.5};
  const auto link = client.link(faults);
  std::uint32_t differ = 0;
  for (std::uint32_t k = 0; k < 40; ++k) {
    const bool gone = draw_fault(faults, kRunSeed, 9, {k}).drop;
    differ += gone != draw_fault(faults, kRunSeed, 1, {k}).drop;
    EXPECT_EQ(std::holds_alternative<Dropped>(Client::tell(*link, k, 1, 9)), gone) << k;
  }
  EXPECT_GT(differ, 5u);
}

TEST(InProcessLink, ProfilesHaveTheRateOfTheRoundTheyAreAsOf) {
  Client client({.batch_size = 8, .learning_rate = 0.4, .learning_rate_decay = 0.5});
  const auto link = client.link({});
  const auto first = std::get<ClientProfile>(Client::tell(*link, 0, 1, 7));
  const auto third = std::get<ClientProfile>(Client::tell(*link, 0, 3, 7));
  EXPECT_NEAR(first.vector[0], 0.1, 1e-6);
  EXPECT_NEAR(third.vector[0], 0.025, 1e-6);
}

TEST(InProcessLink, TrainingForAProfileStragglesAndBreaksToo) {
  Client client;
  const auto reason = [](const ProfileReply& reply) { return std::get<Dropped>(reply).reason; };
  EXPECT_EQ(reason(Client::tell(*client.link({.straggle = 1}), 0, 1, 1)), DropReason::kStraggler);
  EXPECT_EQ(reason(Client::tell(*client.link({.nan = 1}), 0, 1, 1)), DropReason::kNonFinite);
  Client patient({.batch_size = 1, .learning_rate = 0.01}, {.kind = "update-direction", .steps = 20});
  const auto part = std::get<ClientProfile>(Client::tell(*patient.link({.straggle = 1}, true), 0, 1, 1));
  const auto whole = std::get<ClientProfile>(Client::tell(*patient.link({}, true), 0, 1, 1));
  EXPECT_EQ(whole.samples_trained, 20u);
  EXPECT_LT(part.samples_trained, 20u);
}

TEST(InProcessLink, TellingLossesTakesNoTrainingSoNobodyStragglesOrBreaks) {
  Client client;
  for (const FaultOptions& faults : {FaultOptions{.straggle = 1}, FaultOptions{.nan = 1}}) {
    const auto reply = client.link(faults)->profile(
        {.client = {0}, .kind = "losses", .round = 1, .asked_in = 1, .models = {kStart, kStart.size()}});
    ASSERT_TRUE(reply.ok());
    ASSERT_TRUE(std::holds_alternative<ClientProfile>(*reply));
    EXPECT_TRUE(std::isfinite(std::get<ClientProfile>(*reply).vector[0]));
  }
}

TEST(InProcessLink, AnotherKindThanTheRecipesIsAnError) {
  Client client;
  const auto link = client.link({});
  const auto reply = link->profile({.client = {0}, .kind = "label-histogram", .models = {kStart, kStart.size()}});
  ASSERT_FALSE(reply.ok());
  EXPECT_EQ(reply.error().message, "asked for a profile of kind label-histogram, but clients tell update-direction");
}

TEST(InProcessLink, EvaluatesWhatItIsGivenUnlessTheClientHasItsOwn) {
  Client client;
  const auto link = client.link({});
  ASSERT_TRUE(std::holds_alternative<LocalUpdate>(Client::train(*link, true, 0)));
  const auto loss = [&](std::uint32_t k, bool own) {
    const auto reply = link->evaluate({.client = {k}, .model = kStart, .version = 5, .own_model = own});
    EXPECT_TRUE(reply.ok());
    return std::get<Evaluation>(*reply).loss_sum;
  };
  const double given = loss(0, false);
  const double own = loss(0, true);
  EXPECT_LT(own, given);
  EXPECT_EQ(loss(1, true), given);  // it has none, and its predecessor's is not its own
}

}  // namespace
}  // namespace muster
