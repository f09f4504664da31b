// Each kind by itself: what a client tells, computed by hand.
#include <cmath>

#include "profile/fake_subject.h"
#include "profile/formulas.h"

namespace muster {
namespace {

using ::testing::ElementsAre;
using ::testing::FloatNear;

constexpr std::uint64_t kModelBytes = 54 * 4;

TEST(None, TellsNothing) {
  const ProfileWorld world;
  FakeSubject subject(world.network);
  const auto kind = kind_of({.kind = "none"});
  const ClientProfile told = told_by(*kind, {.client = ClientId{7}, .kind = "none"}, subject);
  EXPECT_TRUE(told.vector.empty() && told.labels.empty());
  EXPECT_EQ(told.samples_trained + told.samples_evaluated, 0u);
  EXPECT_EQ(kind->bytes(*world.network, 1, world.exemplars()), ProfileBytes());
  EXPECT_EQ(*kind->width(*world.network, 1), 0u);
  EXPECT_EQ(kind->reveals(), "nothing");
  EXPECT_EQ(kind->start_part(), 0u);
}

TEST(LabelHistogram, IsTheClientsCounts) {
  const ProfileWorld world;
  FakeSubject subject(world.network);
  subject.counts = {2, 4};
  const auto kind = kind_of({.kind = "label-histogram"});
  const ClientProfile told = told_by(*kind, {.client = ClientId{7}}, subject);
  EXPECT_THAT(told.labels, ElementsAre(2, 4));
  EXPECT_TRUE(told.vector.empty() && subject.work.empty());
  EXPECT_EQ(kind->bytes(*world.network, 1, world.exemplars()), (ProfileBytes{.up = 2 * 4, .down = 0}));
  EXPECT_EQ(*kind->width(*world.network, 1), 0u);
  EXPECT_EQ(kind->epsilon(), std::nullopt);
  EXPECT_EQ(kind->reveals(), "how many samples of each class the client has");
}

TEST(LabelHistogram, NoiseIsTheClientsOwnAndTheSameWheneverAsked) {
  const ProfileWorld world;
  FakeSubject subject(world.network);
  subject.counts = {200, 400};
  const auto kind = kind_of({.kind = "label-histogram", .epsilon = 0.05});
  const std::vector<std::uint32_t> told = told_by(*kind, {.client = ClientId{7}, .round = 1}, subject).labels;
  EXPECT_EQ(told, noisy_counts(subject.counts, 0.05, seeded_noise(subject.seed, ClientId{7})));
  EXPECT_NE(told, subject.counts);
  for (const std::uint32_t round : {1u, 2u, 90u}) {
    EXPECT_EQ(told_by(*kind, {.client = ClientId{7}, .round = round}, subject).labels, told);
  }
  subject.seed = 12;
  EXPECT_NE(told_by(*kind, {.client = ClientId{7}}, subject).labels, told);
  EXPECT_EQ(kind->epsilon(), 0.05);
  EXPECT_EQ(kind->reveals(),
            "how many samples of each class the client has; 0.05-differentially private against adding or removing one "
            "sample");
}

TEST(UpdateDirection, IsTheChangeByTraining) {
  const ProfileWorld world;
  FakeSubject subject(world.network);
  const auto kind = kind_of({.kind = "update-direction"});
  const ClientProfile told = told_by(*kind, world.task(*kind), subject);
  EXPECT_EQ(told.vector, subject.change);
  EXPECT_EQ(told.samples_trained, 40u);
  EXPECT_EQ(told.samples_evaluated, 0u);
  EXPECT_EQ(told.vector, kind->observe(*world.network, world.models.row(0), subject.last_trained));
  EXPECT_EQ(kind->bytes(*world.network, 1, world.exemplars()), (ProfileBytes{.up = kModelBytes, .down = kModelBytes}));
  EXPECT_EQ(*kind->width(*world.network, 1), 54u);
  EXPECT_EQ(kind->start_part(), 0u);
  EXPECT_TRUE(kind->directs_start());
  EXPECT_EQ(kind->reveals(), "an update of the whole model, from which samples can in part be reconstructed");
}

TEST(UpdateDirection, LeavesRunningStatisticsOut) {
  const auto network = *make_network({.name = "resnet", .blocks = 1, .widths = {4}}, {8, 8, 3}, 2);
  ASSERT_GT(network->size(), network->parameters());
  FakeSubject subject(network);
  const std::vector<float> start(network->size());
  const auto kind = kind_of({.kind = "update-direction"});
  const ProfileTask task{.client = ClientId{7}, .models = {start, start.size()}};
  const std::vector<float> trained(subject.change.begin(),
                                   subject.change.begin() + static_cast<std::ptrdiff_t>(network->parameters()));
  EXPECT_EQ(told_by(*kind, task, subject).vector, trained);
  EXPECT_EQ(*kind->width(*network, 1), network->parameters());
  // They are sent down, though, with the model.
  EXPECT_EQ(kind->bytes(*network, 1, {}), (ProfileBytes{.up = network->parameters() * 4, .down = network->size() * 4}));
}

TEST(ClassifierWeights, AreThoseOfTheTrainedModel) {
  const ProfileWorld world;
  const auto weights = [&](const ProfileOptions& options) {
    FakeSubject subject(world.network);
    const auto kind = kind_of(options);
    const ClientProfile told = told_by(*kind, world.task(*kind), subject);
    EXPECT_EQ(told.samples_trained, 40u);
    EXPECT_EQ(told.vector, kind->observe(*world.network, world.models.row(0), subject.last_trained));
    EXPECT_EQ(told.vector.size(), *kind->width(*world.network, 1));
    EXPECT_EQ(kind->bytes(*world.network, 1, world.exemplars()),
              (ProfileBytes{.up = told.vector.size() * 4, .down = kModelBytes}));
    EXPECT_EQ(kind->start_part(), 1u);
    EXPECT_FALSE(kind->directs_start());
    return told.vector;
  };
  // Layers of 15 + 5, 20 + 4 and 8 + 2 numbers: the value at i is start + 0.25 (i + 1), with a start of 0.5 (i % 7).
  const auto at = [](std::size_t i) { return 0.5f * static_cast<float>(i % 7) + 0.25f * static_cast<float>(i + 1); };
  const std::vector<float> last = weights({.kind = "classifier-weights"});
  ASSERT_EQ(last.size(), 8u);
  EXPECT_EQ(last.front(), at(44));
  EXPECT_EQ(last.back(), at(51));
  const std::vector<float> biased = weights({.kind = "classifier-weights", .bias = true});
  ASSERT_EQ(biased.size(), 10u);
  EXPECT_EQ(biased.back(), at(53));
  const std::vector<float> two = weights({.kind = "classifier-weights", .layers = "last-two"});
  ASSERT_EQ(two.size(), 28u);
  EXPECT_EQ(two[0], at(20));
  EXPECT_EQ(two[20], at(44));
}

TEST(ClassifierWeights, SayWhatTheyAreReducedTo) {
  EXPECT_EQ(kind_of({.kind = "classifier-weights"})->kept_variance(), std::nullopt);
  const auto kind = kind_of({.kind = "classifier-weights", .variance = 0.9});
  EXPECT_EQ(kind->kept_variance(), 0.9);
  // The server reduces: nothing is saved on the way.
  const ProfileWorld world;
  EXPECT_EQ(kind->bytes(*world.network, 1, {}), (ProfileBytes{.up = 8 * 4, .down = kModelBytes}));
}

TEST(ClassifierWeights, NeedTheLayers) {
  const auto network = *make_network({.name = "softmax"}, {1, 1, 3}, 2);
  const auto kind = kind_of({.kind = "classifier-weights", .layers = "last-two"});
  EXPECT_EQ(kind->width(*network, 1).error().message,
            "profile.layers: \"last-two\", but the network has 1 dense layer at its end");
  FakeSubject subject(network);
  const std::vector<float> start(network->size());
  const auto told = kind->tell({.client = ClientId{7}, .models = {start, start.size()}}, subject);
  ASSERT_FALSE(told.ok());
  EXPECT_TRUE(subject.work.empty());
}

TEST(ConfidenceVector, JudgesTheTrainedModelOnTheExemplars) {
  const ProfileWorld world;
  FakeSubject subject(world.network);
  subject.logits = {0, static_cast<float>(std::log(3.0))};  // one quarter, three quarters
  const auto kind = kind_of({.kind = "confidence-vector"});
  const ClientProfile told = told_by(*kind, world.task(*kind), subject);
  // One exemplar of class 0, two of class 1: 1/4 and 2 * 3/4.
  EXPECT_THAT(told.vector, ElementsAre(FloatNear(1.0f / 7, 1e-6f), FloatNear(6.0f / 7, 1e-6f)));
  EXPECT_EQ(subject.evaluated, subject.last_trained);
  EXPECT_EQ(told.samples_trained, 40u);
  EXPECT_EQ(told.samples_evaluated, 3u);
  EXPECT_EQ(*kind->width(*world.network, 1), 2u);
  EXPECT_EQ(kind->start_part(), 1u);
  // Three exemplars of three floats and a label.
  EXPECT_EQ(kind->bytes(*world.network, 1, world.exemplars()),
            (ProfileBytes{.up = 2 * 4, .down = kModelBytes + 3 * (12 + 4)}));

  const auto softmax = kind_of({.kind = "confidence-vector", .form = "softmax"});
  const double a = std::exp(0.25);
  const double b = std::exp(0.75);
  EXPECT_THAT(told_by(*softmax, world.task(*softmax), subject).vector,
              ElementsAre(FloatNear(static_cast<float>(a / (a + b)), 1e-6f),
                          FloatNear(static_cast<float>(b / (a + b)), 1e-6f)));
}

TEST(ConfidenceVector, IsSentExemplarsAsTheyAreStored) {
  const ProfileWorld world;
  const auto kind = kind_of({.kind = "confidence-vector"});
  const auto down = [&](Samples::Storage storage) {
    Samples samples = world.samples;
    samples.storage = storage;
    samples.shape = {1, 5, 3};
    return kind->bytes(*world.network, 1, {&samples, world.rows}).down - kModelBytes;
  };
  EXPECT_EQ(down(Samples::Storage::kBytes), 3u * (15 + 4));
  EXPECT_EQ(down(Samples::Storage::kFloats), 3u * (15 * 4 + 4));
  EXPECT_EQ(down(Samples::Storage::kTokens), 3u * (5 * 4 + 4));
}

TEST(ConfidenceVector, RefusesExemplarsOfOtherData) {
  ProfileWorld world;
  FakeSubject subject(world.network);
  const auto kind = kind_of({.kind = "confidence-vector"});
  world.samples.classes = 3;
  EXPECT_EQ(dropped_by(*kind, world.task(*kind), subject), DropReason::kMalformed);
  world.samples.classes = 2;
  EXPECT_EQ(dropped_by(*kind, world.task(*kind), subject), std::nullopt);
  world.samples.shape = {1, 3, 1};
  EXPECT_EQ(dropped_by(*kind, world.task(*kind), subject), DropReason::kMalformed);
}

TEST(Losses, AreThoseOfTheModels) {
  const ProfileWorld world(3);
  FakeSubject subject(world.network);
  const auto made = kind_of({.kind = "losses"});
  for (const ProfileKind* kind : {&losses_profile(), static_cast<const ProfileKind*>(made.get())}) {
    const ClientProfile told = told_by(*kind, world.task(*kind), subject);
    EXPECT_THAT(told.vector, ElementsAre(0.5f, 1.0f, 1.5f));
    EXPECT_EQ(told.samples_trained, 0u);
    EXPECT_EQ(told.samples_evaluated, 3u * 6);
    EXPECT_EQ(*kind->width(*world.network, 7), 7u);
    EXPECT_EQ(kind->bytes(*world.network, 3, world.exemplars()), (ProfileBytes{.up = 3 * 4, .down = 3 * kModelBytes}));
    EXPECT_EQ(kind->reveals(), "how well each model fits the client's samples");
  }
}

TEST(Losses, AreToldAlsoIfTheyAreNotFinite) {
  const ProfileWorld world(2);
  FakeSubject subject(world.network);
  subject.loss = std::numeric_limits<double>::infinity();
  const ClientProfile told = told_by(losses_profile(), world.task(losses_profile()), subject);
  EXPECT_THAT(told.vector, ElementsAre(std::numeric_limits<float>::infinity(), std::numeric_limits<float>::infinity()));
}

TEST(ProfileTraining, LastsAsTheOptionsSay) {
  const ProfileWorld world;
  const auto work = [&](const ProfileOptions& options) {
    FakeSubject subject(world.network);
    const auto kind = kind_of(options);
    ProfileTask task = world.task(*kind);
    task.work = 0.25;
    (void)told_by(*kind, task, subject);
    EXPECT_THAT(subject.shares, ElementsAre(0.25)) << options.kind;
    return std::pair(subject.work.at(0).steps.value_or(0), subject.work.at(0).epochs);
  };
  using Pair = std::pair<std::uint32_t, double>;
  EXPECT_EQ(work({.kind = "update-direction"}), Pair(50, 0));
  EXPECT_EQ(work({.kind = "update-direction", .steps = 3}), Pair(3, 0));
  EXPECT_EQ(work({.kind = "update-direction", .epochs = 1.5}), Pair(0, 1.5));
  for (const char* kind : {"classifier-weights", "confidence-vector"}) {
    EXPECT_EQ(work({.kind = kind}), Pair(0, 10));
    EXPECT_EQ(work({.kind = kind, .steps = 3}), Pair(3, 0));
    EXPECT_EQ(work({.kind = kind, .epochs = 1.5}), Pair(0, 1.5));
  }
}

}  // namespace
}  // namespace muster
