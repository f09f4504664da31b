#include "engine/adaptive_epochs.h"

#include "small_run.h"

namespace muster {
namespace {

LocalOptions options(const char* rounding = "fractional") {
  LocalOptions o;
  o.adapt_epochs = 0.5;
  o.loss_tolerance = 0;
  o.epoch_rounding = rounding;
  return o;
}

using Losses = std::vector<std::pair<std::uint32_t, double>>;

// Clients with these samples, and rounds in which some of them report their loss.
class Rounds {
 public:
  Rounds(const LocalOptions& o, std::vector<std::uint32_t> samples)
      : losses(static_cast<std::uint32_t>(samples.size())), epochs(o, std::move(samples), losses) {}

  // Those who report their loss take part.
  RoundRecord next(const Losses& reported) {
    std::vector<ClientId> members;
    for (const auto& [client, loss] : reported) members.push_back({client});
    RoundTasks tasks{.round = ++round_, .tasks = {{.members = members}}};
    GroupUpdate update;
    for (const auto& [client, loss] : reported) {
      update.members.push_back({.client = {client}, .samples = 1, .loss_after = loss, .visits = 1});
    }
    RoundRecord record{.round = round_};
    const auto models = make_client_models({0});
    for (RoundObserver* observer : std::initializer_list<RoundObserver*>{&losses, &epochs}) observer->prepare(tasks);
    for (RoundObserver* observer : std::initializer_list<RoundObserver*>{&losses, &epochs}) observer->group(update);
    for (RoundObserver* observer : std::initializer_list<RoundObserver*>{&losses, &epochs}) {
      observer->end(*models, record);
    }
    return record;
  }
  double of(std::uint32_t client) const { return epochs.epochs({client}); }

  LossHistory losses;
  AdaptiveEpochs epochs;

 private:
  std::uint32_t round_ = 0;
};

// Client 0 has 1,000 samples and a first loss of 1.5.
TEST(AdaptiveEpochs, FollowTheWorkedNumbers) {
  Rounds rounds(options(), {1000, 100, 600, 1000});
  rounds.next({{0, 1.5}, {1, 2.0}, {2, 1.6}, {3, 1.7}});
  EXPECT_DOUBLE_EQ(rounds.of(0), 1);
  EXPECT_NEAR(rounds.of(1), 6, 1e-12);
  EXPECT_NEAR(rounds.of(2), 1.833333, 1e-6);
  EXPECT_NEAR(rounds.of(3), 1.5, 1e-12);
  // Summed 3.2 against 3.0, last 1.2 against 1.5: (0.5 * 10)^0.8 more.
  rounds.next({{0, 1.5}, {1, 1.2}, {2, 1.0}, {3, 1.4}});
  EXPECT_NEAR(rounds.of(1), 9.623898, 1e-6);
  EXPECT_NEAR(rounds.of(2), 1.833333, 1e-6);  // 2.6 is not above 3.0
  EXPECT_NEAR(rounds.of(3), 1.5 + 0.523647, 1e-6);
}

TEST(AdaptiveEpochs, AreRoundedButKeptExact) {
  Rounds rounded(options("round"), {1000, 600});
  Rounds raised(options("ceil"), {1000, 600, 1000});
  rounded.next({{0, 1}, {1, 2}});
  raised.next({{0, 1}, {1, 2}, {2, 1.2}});
  EXPECT_EQ(rounded.of(1), 2);  // 1.833
  EXPECT_EQ(raised.of(1), 2);
  EXPECT_EQ(raised.of(2), 2);  // 1.5
  rounded.epochs.freeze();
  EXPECT_EQ(rounded.of(1), 1);
  rounded.next({{0, 1}, {1, 2}});
  EXPECT_EQ(rounded.of(1), 1);  // frozen for good
}

TEST(AdaptiveEpochs, NeedALossBeyondTheTolerance) {
  LocalOptions tolerant = options();
  tolerant.loss_tolerance = 0.02;
  Rounds rounds(tolerant, {1000, 100, 100});
  rounds.next({{0, 1}, {1, 1.019}, {2, 1.021}});
  EXPECT_EQ(rounds.of(1), 1);
  EXPECT_GT(rounds.of(2), 1);
}

TEST(AdaptiveEpochs, WithoutGrowthStayConstant) {
  LocalOptions zero = options();
  zero.adapt_epochs = 0;
  Rounds still(zero, {10, 20});
  still.next({{0, 5}, {1, 1}});
  EXPECT_EQ(still.of(0), 1);
}

TEST(AdaptiveEpochs, AnAbsentClientIsComparedByItsMean) {
  // Client 1 missed the second round: its 1.8 over one round is more than the largest client's 2.0 over two.
  Rounds rounds(options(), {1000, 500});
  rounds.next({{0, 1.0}, {1, 0.9}});
  EXPECT_EQ(rounds.of(1), 1);
  rounds.next({{0, 1.0}});
  EXPECT_EQ(rounds.of(1), 1);
  // And 1.1 in one of two rounds is more than 1.0 in each.
  Rounds lagging(options(), {1000, 500});
  lagging.next({{0, 1.0}, {1, 1.1}});
  EXPECT_EQ(lagging.of(1), 2);
  lagging.next({{0, 1.0}});
  EXPECT_EQ(lagging.of(1), 3);
}

TEST(AdaptiveEpochs, SetTheEpochsOfEveryMember) {
  Rounds rounds(options(), {1000, 100});
  rounds.next({{0, 1.5}, {1, 2.0}});
  const ClientId members[] = {{0}, {1}};
  RoundTasks tasks{.round = 2, .tasks = {{.members = {members + 1, 1}}, {.members = members}}};
  rounds.epochs.prepare(tasks);
  EXPECT_THAT(tasks.tasks[0].epochs, testing::ElementsAre(6));
  EXPECT_THAT(tasks.tasks[1].epochs, testing::ElementsAre(1, 6));
}

TEST(AdaptiveEpochs, AreRecordedAsTheyWereAskedFor) {
  Rounds rounds(options("ceil"), {1000, 100, 600, 0});
  const RoundRecord first = rounds.next({{2, 1.6}, {0, 1.5}, {1, 2.0}});
  ASSERT_TRUE(first.epochs);
  EXPECT_EQ(first.epochs->max, 1) << "what the losses of a round change, the next one trains";
  EXPECT_EQ(first.loss_variance, rounds.losses.variances()[0]);
  const RoundRecord second = rounds.next({{2, 1.0}, {0, 1.5}, {1, 1.2}});
  ASSERT_TRUE(second.epochs);
  EXPECT_EQ(second.epochs->min, 1);
  EXPECT_EQ(second.epochs->mean, 3);
  EXPECT_EQ(second.epochs->max, 6);
  ASSERT_EQ(second.epochs->clients.size(), 3u);
  for (std::uint32_t k = 0; k < 3; ++k) EXPECT_EQ(second.epochs->clients[k].client, k);
  EXPECT_EQ(second.epochs->clients[1].samples, 100u);
  EXPECT_EQ(second.epochs->clients[1].epochs, 6);
  EXPECT_EQ(second.epochs->clients[2].epochs, 2);  // 1.833
  EXPECT_EQ(second.loss_variance, rounds.losses.variances()[1]);
  EXPECT_FALSE(rounds.next({}).epochs) << "nobody takes part";
  rounds.epochs.freeze();
  EXPECT_FALSE(rounds.next({{0, 1}, {1, 2}}).epochs);
}

TEST(AdaptiveEpochs, AreNotListedForVeryManyClients) {
  Rounds rounds(options(), std::vector<std::uint32_t>(201, 10));
  Losses all;
  for (std::uint32_t k = 0; k < 200; ++k) all.push_back({k, 1});
  EXPECT_EQ(rounds.next(all).epochs->clients.size(), 200u);
  all.push_back({200, 1});
  const RoundRecord record = rounds.next(all);
  EXPECT_TRUE(record.epochs->clients.empty());
  EXPECT_EQ(record.epochs->mean, 1);
}

TEST(AdaptiveEpochs, ComeBackFromACheckpoint) {
  Rounds rounds(options(), {1000, 100});
  rounds.next({{0, 1}, {1, 2}});
  Checkpoint checkpoint{.round = 1};
  rounds.epochs.save(checkpoint);
  rounds.losses.save(checkpoint);
  Rounds restored(options(), {1000, 100});
  ASSERT_TRUE(restored.losses.restore(checkpoint));
  ASSERT_TRUE(restored.epochs.restore(checkpoint));
  EXPECT_EQ(restored.of(1), rounds.of(1));
  EXPECT_EQ(restored.losses.summed({1}), 2);
  EXPECT_EQ(restored.losses.last({1}), 2);
  EXPECT_THAT(restored.losses.variances(), testing::ElementsAre(0.25));
  Rounds other(options(), {1});
  EXPECT_FALSE(other.epochs.restore(checkpoint));
  EXPECT_FALSE(other.losses.restore(checkpoint));
}

TEST(AdaptiveEpochs, FrozenOnesStayFrozenAfterAResume) {
  Rounds rounds(options(), {1000, 100});
  rounds.next({{0, 1}, {1, 2}});
  rounds.epochs.freeze();
  Checkpoint checkpoint{.round = 1};
  rounds.epochs.save(checkpoint);
  Rounds restored(options(), {1000, 100});
  ASSERT_TRUE(restored.epochs.restore(checkpoint));
  restored.next({{0, 1}, {1, 2}});
  EXPECT_EQ(restored.of(1), 1);
}

TEST(AdaptiveEpochs, FrozenOnesAreTheRecipesNotRounded) {
  LocalOptions o = options("ceil");
  o.epochs = 1.5;
  Rounds rounds(o, {1000, 100});
  EXPECT_EQ(rounds.of(1), 2);
  rounds.epochs.freeze();
  EXPECT_EQ(rounds.of(1), 1.5);
}

TEST(LossHistory, TellsTheVarianceOfSummedLosses) {
  LocalOptions none;
  Rounds rounds(none, {10, 20, 0});
  rounds.next({{0, 1}, {1, 3}});
  rounds.next({{0, 1}, {1, 4}});
  ASSERT_EQ(rounds.losses.variances().size(), 2u);
  EXPECT_DOUBLE_EQ(rounds.losses.variances()[0], 1);
  EXPECT_DOUBLE_EQ(rounds.losses.variances()[1], 6.25);
  EXPECT_TRUE(std::isnan(rounds.losses.summed({2})));
}

}  // namespace
}  // namespace muster
