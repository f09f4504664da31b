#include "train/profile_collector.h"

#include <cmath>
#include <numeric>

#include "data/federated_data.h"
#include "profile/kind_settings.h"
#include "solver/local_solver.h"
#include "train/in_order.h"

namespace muster {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::uint32_t kClients = 7;
constexpr std::uint32_t kEmpty = 4;  // the client without samples
constexpr std::uint32_t kFeatures = 4;
constexpr std::uint32_t kClasses = 3;

// A few noisy points per client, mostly of one class; two exemplars per class.
class FakeData final : public FederatedData {
 public:
  FakeData() {
    samples_ = {.storage = Samples::Storage::kFloats, .shape = {1, 1, kFeatures}, .classes = kClasses};
    Stream stream({.seed = 9, .purpose = Purpose::kTest});
    for (std::uint32_t k = 0; k < kClients; ++k) {
      rows_.emplace_back();
      for (std::uint32_t i = 0; k != kEmpty && i < 6 + k; ++i) {
        add(i % 4 == 0 ? (k + 1) % kClasses : k % kClasses, stream);
        rows_.back().push_back(static_cast<std::uint32_t>(samples_.size()) - 1);
      }
    }
    for (std::uint32_t i = 0; i < 2 * kClasses; ++i) {
      add(i / 2, stream);
      exemplars_.push_back(static_cast<std::uint32_t>(samples_.size()) - 1);
    }
  }

  std::uint32_t clients() const override { return kClients; }
  Shape shape() const override { return samples_.shape; }
  std::uint32_t classes() const override { return kClasses; }
  std::uint32_t train_count(ClientId k) const override { return static_cast<std::uint32_t>(rows_[k.value].size()); }
  std::uint32_t test_count(ClientId) const override { return 0; }
  SampleView train(ClientId k, SampleBuffer&) const override { return {&samples_, rows_[k.value]}; }
  SampleView test(ClientId, SampleBuffer&) const override { return {&samples_, {}}; }
  SampleView global_test() const override { return {&samples_, {}}; }
  SampleView exemplars() const override { return {&samples_, has_exemplars ? exemplars_ : none_}; }
  std::vector<std::uint32_t> label_counts(ClientId k) const override {
    std::vector<std::uint32_t> counts(kClasses);
    for (const std::uint32_t row : rows_[k.value]) ++counts[static_cast<std::size_t>(samples_.labels[row])];
    return counts;
  }
  std::string summary() const override { return "fake"; }

  [[nodiscard]] const Samples& samples() const { return samples_; }
  [[nodiscard]] const std::vector<std::uint32_t>& rows(std::uint32_t client) const { return rows_[client]; }
  bool has_exemplars = true;

 private:
  void add(std::uint32_t label, Stream& stream) {
    samples_.labels.push_back(static_cast<std::int32_t>(label));
    for (std::uint32_t f = 0; f < kFeatures; ++f) {
      samples_.floats.push_back(static_cast<float>((f == label ? 1 : 0) + 0.3 * stream.normal()));
    }
  }

  Samples samples_;
  std::vector<std::vector<std::uint32_t>> rows_;
  std::vector<std::uint32_t> exemplars_;
  std::vector<std::uint32_t> none_;
};

struct ClientsSetting {
  LocalOptions local{.batch_size = 4, .learning_rate = 0.1};
  FaultOptions faults;
  bool partial = false;
  std::string objective = "plain";
  ModelOptions model{.name = "softmax"};
  std::uint32_t models = 1;
};

// Clients in this process, as the engine makes them.
class Clients {
 public:
  Clients(std::uint32_t threads, const ClientsSetting& world) : world_(world), pool_(threads) {
    network = *make_network(world.model, data.shape(), data.classes());
    objective_ = std::move(make_objective({.name = world.objective})).value();
    for (std::uint32_t worker = 0; worker < threads; ++worker) {
      solvers_.push_back(
          std::make_unique<LocalSolver>(network, data, world.local, Augmentation{}, *objective_, states_, kSeed));
    }
    models = Rows<float>(world.models, network->size());
    for (std::uint32_t m = 0; m < world.models; ++m) {
      Stream stream({.seed = kSeed, .purpose = Purpose::kInitialise, .part = m});
      network->initialise(models.row(m), stream);
    }
    for (std::uint32_t k = 0; k < kClients; ++k) clients.push_back(ClientId{k});
  }

  Result<CollectedProfiles> ask(const ProfileOptions& options, std::uint32_t round = 1) {
    MUSTER_ASSIGN(const std::unique_ptr<ProfileKind> kind, make_profile_kind(options));
    return ask_clients_of(*kind, *kind, round);
  }
  // `kind` of clients whose recipe has `own`.
  Result<CollectedProfiles> ask_clients_of(const ProfileKind& own, const ProfileKind& kind, std::uint32_t round = 1) {
    std::vector<std::unique_ptr<ClientLink>> links;
    for (const auto& solver : solvers_) {
      links.push_back(make_in_process_link(*solver, own, world_.faults, world_.partial, kSeed));
    }
    const ProfileRequest request{.clients = clients, .round = round, .as_of_round = round, .models = models};
    MUSTER_ASSIGN(ProfileCollector collector, ProfileCollector::make(kind, *network, data.exemplars(), request));
    if (collector.nothing_to_ask()) return std::move(collector).finish();
    MUSTER_TRY(in_order<ProfileReply>(
        pool_, static_cast<std::uint32_t>(clients.size()),
        [&](std::uint32_t worker, std::uint32_t i) {
          return links[worker]->profile({.client = clients[i],
                                         .kind = kind.entry().name,
                                         .round = round,
                                         .asked_in = round,
                                         .models = models,
                                         .exemplars = data.exemplars()});
        },
        [&](std::uint32_t i, ProfileReply& reply) { collector.add(i, reply); }));
    return std::move(collector).finish();
  }
  CollectedProfiles collect(const ProfileOptions& options, std::uint32_t round = 1) {
    auto collected = ask(options, round);
    EXPECT_TRUE(collected.ok()) << collected.error().message;
    return std::move(collected).value();
  }
  LocalSolver& solver() { return *solvers_[0]; }

  static constexpr std::uint64_t kSeed = 17;
  FakeData data;
  std::shared_ptr<const Network> network;
  Rows<float> models;
  std::vector<ClientId> clients;
  ClientStates states_{{}};

 private:
  ClientsSetting world_;
  WorkerPool pool_;
  std::unique_ptr<Objective> objective_;
  std::vector<std::unique_ptr<LocalSolver>> solvers_;
};

// Every kind of the catalogue, with each of its keys.
class CollectEveryKind : public ::testing::TestWithParam<KindSetting> {
 protected:
  [[nodiscard]] bool tells_nothing() const { return entry.gives == ProfileGives::kNothing; }
  const ProfileOptions options = GetParam().options;
  const ProfileEntry entry = profile_kind(options);
};
INSTANTIATE_TEST_SUITE_P(Profile, CollectEveryKind, ::testing::ValuesIn(kind_settings()), name_of_setting);

TEST_P(CollectEveryKind, IsEqualAtAnyThreadCount) {
  Clients one(1, {.models = 2});
  Clients three(3, {.models = 2});
  const CollectedProfiles a = one.collect(options);
  const CollectedProfiles b = three.collect(options);
  EXPECT_EQ(a.profiles.vectors.values, b.profiles.vectors.values);
  EXPECT_EQ(a.profiles.labels.values, b.profiles.labels.values);
  EXPECT_EQ(a.profiles.missing, b.profiles.missing);
  EXPECT_EQ(a.samples_trained, b.samples_trained);
  EXPECT_EQ(a.slowest_flops, b.slowest_flops);
  // And again from the same federation: asking leaves no trace.
  const CollectedProfiles again = one.collect(options);
  EXPECT_EQ(a.profiles.vectors.values, again.profiles.vectors.values);
  EXPECT_EQ(a.profiles.labels.values, again.profiles.labels.values);
}

TEST_P(CollectEveryKind, SaysWhatWasAskedAndWhatItReveals) {
  Clients federation(2, {});
  const ClientProfiles profiles = federation.collect(options).profiles;
  EXPECT_EQ(profiles.kind, entry.name);
  EXPECT_EQ(profiles.clients, federation.clients);
  EXPECT_THAT(profiles.reveals, HasSubstr(entry.reveals));
  EXPECT_EQ(profiles.epsilon, options.epsilon);
}

TEST_P(CollectEveryKind, LeavesOutAClientWithoutSamplesUnlessItCounts) {
  Clients federation(2, {});
  const CollectedProfiles collected = federation.collect(options);
  if (tells_nothing() || entry.gives == ProfileGives::kLabels) {
    EXPECT_TRUE(collected.profiles.missing.empty());
    for (std::size_t c = 0; c < collected.profiles.labels.width; ++c) {
      EXPECT_EQ(collected.profiles.labels.row(kEmpty)[c], 0u);
    }
  } else {
    EXPECT_THAT(collected.profiles.missing, ElementsAre(kEmpty));
    ASSERT_EQ(collected.dropped.size(), 1u);
    EXPECT_EQ(collected.dropped[0].client, ClientId{kEmpty});
    EXPECT_EQ(collected.dropped[0].reason, DropReason::kNoSamples);
    for (const float value : collected.profiles.vectors.row(kEmpty)) EXPECT_EQ(value, 0);
  }
}

TEST(CollectProfiles, HistogramsAreTheClientsOwnCounts) {
  Clients federation(2, {});
  const ClientProfiles profiles = federation.collect({.kind = "label-histogram"}).profiles;
  ASSERT_EQ(profiles.labels.count(), kClients);
  for (std::uint32_t k = 0; k < kClients; ++k) {
    const std::vector<std::uint32_t> own = federation.data.label_counts(ClientId{k});
    EXPECT_TRUE(std::equal(own.begin(), own.end(), profiles.labels.row(k).begin())) << k;
  }
  EXPECT_TRUE(profiles.missing.empty());
  EXPECT_FALSE(profiles.epsilon);
  EXPECT_EQ(profiles.bytes_down, 0u);
  EXPECT_EQ(profiles.bytes_up, std::uint64_t{kClients} * kClasses * 4);
  EXPECT_EQ(profiles.vectors.count(), 0u);
}

TEST(CollectProfiles, NoiseIsStatedAndRepeats) {
  Clients federation(2, {});
  const ClientProfiles profiles = federation.collect({.kind = "label-histogram", .epsilon = 0.3}).profiles;
  EXPECT_EQ(profiles.epsilon, 0.3);
  EXPECT_THAT(profiles.reveals, HasSubstr("0.3-differentially private"));
  EXPECT_NE(profiles.labels.values, federation.collect({.kind = "label-histogram"}).profiles.labels.values);
  // Asked again in a later round, a client tells the same: its noise cannot be averaged away.
  EXPECT_EQ(profiles.labels.values,
            federation.collect({.kind = "label-histogram", .epsilon = 0.3}, 8).profiles.labels.values);
  // It has nothing to hide.
  for (const std::uint32_t count : profiles.labels.row(kEmpty)) EXPECT_EQ(count, 0u);
}

TEST(CollectProfiles, UpdateDirectionIsTheModelAfterLessTheModelBefore) {
  // Two steps on all samples at once, so that the order of samples does not matter.
  Clients federation(1, {.local = {.batch_size = 64, .learning_rate = 0.1}});
  const CollectedProfiles collected = federation.collect({.kind = "update-direction", .steps = 2});
  const std::span<const float> start = federation.models.row(0);
  for (std::uint32_t k = 0; k < kClients; ++k) {
    if (k == kEmpty) continue;
    const std::vector<std::uint32_t>& rows = federation.data.rows(k);
    std::vector<double> w(start.begin(), start.end());  // [feature][class], then biases
    for (int step = 0; step < 2; ++step) {
      std::vector<double> gradient(w.size());
      for (const std::uint32_t row : rows) {
        const float* x = &federation.data.samples().floats[row * kFeatures];
        std::vector<double> p(kClasses);
        double sum = 0;
        for (std::uint32_t c = 0; c < kClasses; ++c) {
          p[c] = w[kFeatures * kClasses + c];
          for (std::uint32_t f = 0; f < kFeatures; ++f) p[c] += x[f] * w[f * kClasses + c];
          sum += p[c] = std::exp(p[c]);
        }
        for (std::uint32_t c = 0; c < kClasses; ++c) {
          const bool own = static_cast<std::uint32_t>(federation.data.samples().labels[row]) == c;
          const double error = (p[c] / sum - (own ? 1 : 0)) / static_cast<double>(rows.size());
          for (std::uint32_t f = 0; f < kFeatures; ++f) gradient[f * kClasses + c] += error * x[f];
          gradient[kFeatures * kClasses + c] += error;
        }
      }
      for (std::size_t i = 0; i < w.size(); ++i) w[i] -= 0.1 * gradient[i];
    }
    for (std::size_t i = 0; i < w.size(); ++i) {
      EXPECT_NEAR(collected.profiles.vectors.row(k)[i], w[i] - start[i], 1e-6) << k << " " << i;
    }
  }
  // The client without samples has no direction.
  EXPECT_THAT(collected.profiles.missing, ElementsAre(kEmpty));
  ASSERT_EQ(collected.dropped.size(), 1u);
  EXPECT_EQ(collected.dropped[0].reason, DropReason::kNoSamples);
  for (const float value : collected.profiles.vectors.row(kEmpty)) EXPECT_EQ(value, 0);
  const std::uint64_t model_bytes = federation.network->size() * 4;
  EXPECT_EQ(collected.profiles.bytes_down, kClients * model_bytes);
  EXPECT_EQ(collected.profiles.bytes_up, (kClients - 1) * model_bytes);
}

TEST(CollectProfiles, TrainForTheWantedStepsOrEpochs) {
  Clients federation(1, {});  // 6 to 12 samples in batches of 4
  federation.clients = {ClientId{0}};
  EXPECT_EQ(federation.collect({.kind = "update-direction", .steps = 3}).samples_trained, 4u + 2 + 4);
  EXPECT_EQ(federation.collect({.kind = "update-direction", .epochs = 2}).samples_trained, 12u);
  EXPECT_EQ(federation.collect({.kind = "update-direction"}).samples_trained, 25u * 6);  // 50 steps, two an epoch
  EXPECT_EQ(federation.collect({.kind = "classifier-weights"}).samples_trained, 60u);    // 10 epochs
  EXPECT_EQ(federation.collect({.kind = "confidence-vector"}).samples_trained, 60u);
  const double macs = static_cast<double>(federation.network->forward_macs());
  EXPECT_EQ(federation.collect({.kind = "confidence-vector"}).slowest_flops, macs * (6 * 60 + 2 * 6));
  // Of several clients, the one with most to do: it has 12 samples.
  federation.clients = {ClientId{0}, ClientId{6}, ClientId{1}};
  const CollectedProfiles several = federation.collect({.kind = "update-direction", .epochs = 2});
  EXPECT_EQ(several.samples_trained, 2u * (6 + 12 + 7));
  EXPECT_EQ(several.slowest_flops, macs * 6 * 24);
}

TEST(CollectProfiles, ClassifierWeightsAreThoseOfTheTrainedModel) {
  const ClientsSetting world{.model = {.name = "mlp", .hidden = {5}}};
  Clients federation(2, world);
  const Rows<float> update = federation.collect({.kind = "update-direction", .epochs = 2}).profiles.vectors;
  const auto weights = [&](const char* layers, bool bias) {
    return federation.collect({.kind = "classifier-weights", .epochs = 2, .layers = layers, .bias = bias})
        .profiles.vectors;
  };
  const Rows<float> last = weights("last", true);
  const Rows<float> all = weights("all", false);
  ASSERT_EQ(last.width, 5u * kClasses + kClasses);
  ASSERT_EQ(all.width, kFeatures * 5u + 5u * kClasses);
  const ParameterRange range = federation.network->last_layer();
  for (std::uint32_t k = 0; k < kClients; ++k) {
    if (k == kEmpty) continue;
    for (std::size_t i = 0; i < last.width; ++i) {
      EXPECT_NEAR(last.row(k)[i], federation.models.row(0)[range.offset + i] + update.row(k)[range.offset + i], 1e-6);
    }
    EXPECT_NEAR(all.row(k)[0], federation.models.row(0)[0] + update.row(k)[0], 1e-6);
  }
}

TEST(CollectProfiles, ReductionLeavesTheMissingOut) {
  Clients federation(2, {});
  const ProfileOptions options{.kind = "classifier-weights", .epochs = 2};
  ProfileOptions with_all = options;
  with_all.variance = 1;
  const ClientProfiles raw = federation.collect(options).profiles;
  const ClientProfiles reduced = federation.collect(with_all).profiles;
  EXPECT_LE(reduced.vectors.width, kClients - 2u);  // six rows, centred
  EXPECT_EQ(reduced.missing, raw.missing);
  EXPECT_EQ(reduced.bytes_up, raw.bytes_up);
  const auto distance = [](const Rows<float>& rows, std::uint32_t i, std::uint32_t j) {
    double sum = 0;
    for (std::size_t c = 0; c < rows.width; ++c) sum += std::pow(double{rows.row(i)[c]} - rows.row(j)[c], 2);
    return std::sqrt(sum);
  };
  for (const std::uint32_t k : {1u, 2u, 6u}) {
    EXPECT_NEAR(distance(reduced.vectors, 0, k), distance(raw.vectors, 0, k), 1e-5);
  }
  for (const float value : reduced.vectors.row(kEmpty)) EXPECT_EQ(value, 0);
}

TEST(CollectProfiles, ConfidenceGrowsWithTheClassesAClientHas) {
  Clients federation(2, {});
  const ClientProfiles profiles = federation.collect({.kind = "confidence-vector", .epochs = 60}).profiles;
  for (std::uint32_t k = 0; k < kClients; ++k) {
    if (k == kEmpty) continue;
    const std::span<const float> confidence = profiles.vectors.row(k);
    EXPECT_NEAR(std::accumulate(confidence.begin(), confidence.end(), 0.0), 1, 1e-6);
    EXPECT_EQ(std::max_element(confidence.begin(), confidence.end()) - confidence.begin(), k % kClasses) << k;
    // The class it never saw comes last.
    EXPECT_EQ(std::min_element(confidence.begin(), confidence.end()) - confidence.begin(), (k + 2) % kClasses) << k;
  }
}

TEST(CollectProfiles, ConfidenceWithoutExemplarsIsRefused) {
  Clients federation(1, {});
  federation.data.has_exemplars = false;
  const auto refused = federation.ask({.kind = "confidence-vector"});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().message,
            "profile.kind: \"confidence-vector\" needs exemplars at the server, want data.exemplars >= 1");
}

TEST(CollectProfiles, LossesAreThoseOfAnEvaluation) {
  Clients federation(2, {.models = 3});
  const ClientProfiles profiles = federation.collect({.kind = "losses"}).profiles;
  ASSERT_EQ(profiles.vectors.width, 3u);
  SampleBuffer buffer;
  for (std::uint32_t k = 0; k < kClients; ++k) {
    if (k == kEmpty) continue;
    const SampleView view = federation.data.train(ClientId{k}, buffer);
    for (std::uint32_t m = 0; m < 3; ++m) {
      const Evaluation own = federation.solver().evaluate(federation.models.row(m), view);
      EXPECT_FLOAT_EQ(profiles.vectors.row(k)[m], static_cast<float>(own.loss_sum / static_cast<double>(view.size())));
    }
  }
  EXPECT_THAT(profiles.missing, ElementsAre(kEmpty));
  EXPECT_EQ(profiles.bytes_down, 3 * kClients * federation.network->size() * 4);
  EXPECT_EQ(profiles.bytes_up, 3u * (kClients - 1) * 4);
}

TEST(CollectProfiles, ABrokenModelHasABrokenLoss) {
  Clients federation(1, {.models = 2});
  federation.models.row(1)[0] = std::numeric_limits<float>::quiet_NaN();
  const ClientProfiles profiles = federation.collect({.kind = "losses"}).profiles;
  EXPECT_TRUE(std::isfinite(profiles.vectors.row(0)[0]));
  EXPECT_FALSE(std::isfinite(profiles.vectors.row(0)[1]));
}

TEST_P(CollectEveryKind, AnySubsetMayVanish) {
  if (tells_nothing()) return;
  Clients none_left(2, {.faults = {.drop = 1}});
  const CollectedProfiles nobody = none_left.collect(options);
  EXPECT_EQ(nobody.profiles.missing.size(), kClients);
  EXPECT_EQ(nobody.profiles.bytes_up, 0u);
  ASSERT_EQ(nobody.dropped.size(), kClients);
  for (std::uint32_t k = 0; k < kClients; ++k) {
    EXPECT_EQ(nobody.dropped[k].client, ClientId{k});
    EXPECT_EQ(nobody.dropped[k].reason, DropReason::kFault);
  }

  Clients some_left(2, {.faults = {.drop = 0.6}});
  Clients all_left(2, {});
  const CollectedProfiles some = some_left.collect(options);
  EXPECT_GT(some.profiles.missing.size(), 1u);
  EXPECT_LT(some.profiles.missing.size(), kClients);
  if (options.variance) return;  // components depend on who is there
  // Who is left tells what it tells anyway.
  const CollectedProfiles all = all_left.collect(options);
  for (std::uint32_t k = 0; k < kClients; ++k) {
    const auto& missing = some.profiles.missing;
    if (std::find(missing.begin(), missing.end(), k) != missing.end()) continue;
    const auto row = [&](const CollectedProfiles& c) {
      return std::pair(std::vector<float>(c.profiles.vectors.row(k).begin(), c.profiles.vectors.row(k).end()),
                       std::vector<std::uint32_t>(c.profiles.labels.row(k).begin(), c.profiles.labels.row(k).end()));
    };
    EXPECT_EQ(row(some), row(all)) << k;
  }
}

TEST(CollectProfiles, OnlyTrainingStragglesOrBreaks) {
  for (const bool partial : {false, true}) {
    Clients slow(1, {.faults = {.straggle = 1}, .partial = partial});
    EXPECT_TRUE(slow.collect({.kind = "label-histogram"}).profiles.missing.empty());
    const CollectedProfiles collected = slow.collect({.kind = "update-direction", .steps = 20});
    EXPECT_EQ(collected.profiles.missing.size(), partial ? 1u : kClients);
    Clients fast(1, {});
    EXPECT_LT(collected.samples_trained, fast.collect({.kind = "update-direction", .steps = 20}).samples_trained);
  }
  Clients broken(1, {.faults = {.nan = 1}});
  EXPECT_TRUE(broken.collect({.kind = "label-histogram"}).profiles.missing.empty());
  const CollectedProfiles collected = broken.collect({.kind = "update-direction"});
  EXPECT_EQ(collected.profiles.missing.size(), kClients);
  EXPECT_EQ(collected.dropped[0].reason, DropReason::kNonFinite);
}

TEST(CollectProfiles, TrainingForThemUsesAndKeepsNoState) {
  Clients plain(1, {});
  for (const char* objective : {"prox", "control-variate", "dynamic"}) {
    ClientsSetting world{.objective = objective};
    world.local.momentum = 0;
    Clients federation(1, world);
    EXPECT_EQ(federation.collect({.kind = "update-direction"}).profiles.vectors.values,
              plain.collect({.kind = "update-direction"}).profiles.vectors.values)
        << objective;
    EXPECT_EQ(federation.states_.size(), 0u) << objective;
  }
  ClientsSetting world;
  world.local.momentum = 0.9;
  world.local.keep_optimizer = true;
  Clients federation(1, world);
  (void)federation.collect({.kind = "classifier-weights"});
  EXPECT_EQ(federation.states_.size(), 0u);
}

TEST(CollectProfiles, BadOptionsAreErrors) {
  Clients federation(1, {});
  EXPECT_THAT(federation.ask({.kind = "guess"}).error().message, HasSubstr("profile.kind: unknown kind 'guess'"));
  EXPECT_THAT(federation.ask({.kind = "classifier-weights", .layers = "last-two"}).error().message,
              HasSubstr("profile.layers: \"last-two\", but the network has 1 dense layer"));
}

TEST_P(CollectEveryKind, NobodyAskedIsNobodyTold) {
  Clients federation(2, {});
  federation.clients.clear();
  const CollectedProfiles collected = federation.collect(options);
  EXPECT_TRUE(collected.profiles.missing.empty());
  EXPECT_EQ(collected.profiles.bytes_down, 0u);
  EXPECT_EQ(collected.profiles.bytes_up, 0u);
}

TEST(CollectProfiles, LossesCanBeAskedOfClientsOfAnyKind) {
  Clients federation(2, {.models = 2});
  const Rows<float> losses = federation.collect({.kind = "losses"}).profiles.vectors;
  const auto own = std::move(make_profile_kind({.kind = "label-histogram"})).value();
  const auto asked = federation.ask_clients_of(*own, losses_profile());
  ASSERT_TRUE(asked.ok()) << asked.error().message;
  EXPECT_EQ(asked->profiles.vectors.values, losses.values);
  const auto other = std::move(make_profile_kind({.kind = "update-direction"})).value();
  EXPECT_EQ(federation.ask_clients_of(*own, *other).error().message,
            "asked for a profile of kind update-direction, but clients tell label-histogram");
}

// Observed after the same training, a profile is what the client would have told.
TEST(CollectProfiles, ToldAndObservedAreTheSame) {
  Clients federation(1, {.model = {.name = "mlp", .hidden = {5}}});
  constexpr std::uint32_t kRound = 3;
  constexpr std::uint32_t kProfilePart = 65535;  // the draws that belong to profiles
  for (const ProfileEntry& entry : profile_kinds()) {
    if (!entry.observable) continue;
    const auto kind = std::move(make_profile_kind({.kind = entry.name, .steps = 3})).value();
    const Rows<float> told = federation.collect({.kind = entry.name, .steps = 3}, kRound).profiles.vectors;
    for (std::uint32_t k = 0; k < kClients; ++k) {
      if (k == kEmpty) continue;
      const auto trained = [&](std::uint32_t part) {
        auto reply = federation.solver().train({.client = ClientId{k},
                                                .round = kRound,
                                                .part = part,
                                                .model = federation.models.row(0),
                                                .trial = LocalWork{.steps = 3}});
        return std::get<LocalUpdate>(*reply).model;
      };
      const std::vector<float> row(told.row(k).begin(), told.row(k).end());
      EXPECT_EQ(kind->observe(*federation.network, federation.models.row(0), trained(kProfilePart)), row) << entry.name;
      EXPECT_NE(kind->observe(*federation.network, federation.models.row(0), trained(0)), row) << entry.name;
    }
  }
}

// A vector of 4 GiB, which no client is ever asked for.
class EnormousKind final : public ProfileKind {
 public:
  const ProfileEntry& entry() const override {
    static const ProfileEntry entry{.name = "enormous", .gives = ProfileGives::kVectors};
    return entry;
  }
  Result<std::size_t> width(const Network&, std::uint32_t) const override { return std::size_t{1} << 30; }

 private:
  Result<ProfileReply> do_tell(const ProfileTask&, ProfileSubject&) const override { return failure("was asked"); }
};

TEST(CollectProfiles, MoreThanFitsIntoMemoryIsNotAsked) {
  Clients federation(1, {});
  const EnormousKind kind;
  EXPECT_EQ(federation.ask_clients_of(kind, kind).error().message,
            "profile.kind: \"enormous\" is 1073741824 numbers of each of 7 clients, want at most 16 GiB together");
}

TEST(ReduceVectors, LeavesVectorsAloneUnlessTheKindWantsIt) {
  const auto plain = std::move(make_profile_kind({.kind = "classifier-weights"})).value();
  const auto reducing = std::move(make_profile_kind({.kind = "classifier-weights", .variance = 1})).value();
  // On a line: one component, whose origin is the mean of the rows that take part.
  Rows<float> vectors(4, 2);
  vectors.values = {0, 0, 3, 4, 100, 100, 6, 8};
  const std::vector<std::uint32_t> missing{2};
  reduce_vectors(*plain, vectors, missing);
  EXPECT_THAT(vectors.values, ElementsAre(0, 0, 3, 4, 100, 100, 6, 8));
  reduce_vectors(*reducing, vectors, missing);
  ASSERT_EQ(vectors.width, 1u);
  EXPECT_NEAR(std::abs(vectors.values[0]), 5, 1e-5);
  EXPECT_NEAR(vectors.values[1], 0, 1e-5);
  EXPECT_EQ(vectors.values[2], 0);
  EXPECT_NEAR(vectors.values[3], -vectors.values[0], 1e-5);
  // Nobody is left: a column of zeros.
  const std::vector<std::uint32_t> all{0, 1, 2, 3};
  reduce_vectors(*reducing, vectors, all);
  EXPECT_EQ(vectors.count(), 4u);
  EXPECT_EQ(vectors.values, std::vector<float>(4));
}

TEST_P(CollectEveryKind, AnAnswerThatCannotBeUsedIsNone) {
  if (tells_nothing()) return;
  Clients federation(1, {});
  const auto kind = std::move(make_profile_kind(options)).value();
  const auto collect = [&](ProfileReply answer) {
    const ProfileRequest request{.clients = federation.clients, .models = federation.models};
    auto collector = ProfileCollector::make(*kind, *federation.network, federation.data.exemplars(), request);
    EXPECT_TRUE(collector.ok());
    for (std::uint32_t k = 0; k < kClients; ++k) collector->add(k, answer);
    return std::move(*collector).finish();
  };
  const auto expect_none = [&](ProfileReply answer, DropReason reason) {
    const CollectedProfiles collected = collect(std::move(answer));
    EXPECT_EQ(collected.profiles.missing.size(), kClients);
    EXPECT_EQ(collected.profiles.bytes_up, 0u);
    EXPECT_EQ(collected.samples_trained, 0u);
    ASSERT_EQ(collected.dropped.size(), kClients);
    for (std::uint32_t k = 0; k < kClients; ++k) {
      // Whatever the answer says of who it is.
      EXPECT_EQ(collected.dropped[k].client, ClientId{k});
      EXPECT_EQ(collected.dropped[k].reason, reason);
    }
    for (const float value : collected.profiles.vectors.values) EXPECT_EQ(value, 0);
  };
  const std::size_t width = *kind->width(*federation.network, 1);
  const std::size_t counts = entry.gives == ProfileGives::kLabels ? kClasses : 0;
  const ClientProfile right{
      .vector = std::vector<float>(width, 1.0f / static_cast<float>(std::max<std::size_t>(1, width))),
      .labels = std::vector<std::uint32_t>(counts, 1),
      .samples_trained = 5};
  EXPECT_TRUE(collect(right).profiles.missing.empty());
  expect_none(ClientProfile{.samples_trained = 5}, DropReason::kMalformed);
  ClientProfile longer = right;
  longer.vector.push_back(0);
  expect_none(longer, DropReason::kMalformed);
  ClientProfile counted = right;
  counted.labels.push_back(1);
  expect_none(counted, DropReason::kMalformed);
  expect_none(Dropped{ClientId{12345}, DropReason::kUnreachable}, DropReason::kUnreachable);
  if (width == 0) return;
  ClientProfile infinite = right;
  infinite.vector.back() = std::numeric_limits<float>::infinity();
  if (entry.gives == ProfileGives::kLosses) {
    EXPECT_EQ(collect(infinite).profiles.vectors.values.back(), infinite.vector.back());
  } else {
    expect_none(infinite, DropReason::kNonFinite);
  }
}

}  // namespace
}  // namespace muster
