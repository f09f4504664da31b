// Private runs, deployed: the noise comes from a key that nobody but the cloud knows, which a simulation can repeat the
// run with; and what is spent is never less than what has left.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <atomic>
#include <set>

#include "aggregate/privacy_accountant.h"
#include "deploy/deployment_in_memory.h"
#include "engine/noise_record.h"
#include "engine/run_records.h"

namespace muster {
namespace {

class PrivateDeployedRun : public SimulationTest {
 protected:
  static Recipe private_recipe() {
    return small(
        {"rounds=4", "dp.clip=1.0", "dp.noise-multiplier=2.0", "aggregation.global=uniform", "plan.sample-clients=6"});
  }
  // As `muster cloud` runs it, until `stop` rounds are done (0: to the end); resumes, if a run is given.
  RunSummary deploy(std::uint32_t stop = 0, const std::string& run = "") {
    DeploymentInMemory deployment({.edges = 1, .states = states_.path()});
    std::atomic<bool> interrupt{false};
    SimulationOptions wanted = options(1);
    wanted.secret_noise = true;
    wanted.interrupt = &interrupt;
    wanted.on_round = [&](std::uint32_t round) { interrupt = stop > 0 && round >= stop; };
    wanted.federation = deployment.maker();
    const auto summary = run.empty() ? simulate(private_recipe(), wanted) : resume(run, {}, wanted);
    EXPECT_TRUE(summary.ok()) << summary.error().message;
    return summary.ok() ? *summary : RunSummary{};
  }
  std::string simulated_with(const std::filesystem::path& key) {
    SimulationOptions wanted = options(1);
    wanted.noise_key = key;
    const auto summary = simulate(private_recipe(), wanted);
    EXPECT_TRUE(summary.ok()) << summary.error().message;
    return summary.ok() ? summary->signature : "";
  }
  static double epsilon_of_last(const RunSummary& summary) {
    return json_lines(summary.dir / "rounds.jsonl").back()["epsilon"];
  }

  ScratchFolder states_;
};

TEST_F(PrivateDeployedRun, IsRepeatedByWhoeverHasItsKeyOnly) {
  const RunSummary deployed = deploy();
  const std::filesystem::path key = deployed.dir / kNoiseKeyFile;
  struct stat found {};
  ASSERT_EQ(::stat(key.c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 07777, 0600u);
  EXPECT_EQ(simulated_with(key), deployed.signature);
  EXPECT_NE(run(private_recipe()).signature, deployed.signature) << "noise from the seed";
  const RunSummary again = deploy();
  EXPECT_NE(again.signature, deployed.signature) << "another key";
  EXPECT_NE(slurp(again.dir / kNoiseKeyFile), slurp(key));
}

// Clients know who is drawn, so that drawing hides nobody.
TEST_F(PrivateDeployedRun, CountsEveryClientAsDrawn) {
  PrivacyAccountant accountant;
  accountant.add_sampled_gaussian(1, 2, 4);
  EXPECT_DOUBLE_EQ(epsilon_of_last(deploy()), accountant.epsilon(1e-5));
  EXPECT_LT(epsilon_of_last(run(private_recipe())), accountant.epsilon(1e-5));
}

TEST_F(PrivateDeployedRun, GoesOnWithItsKeyAndItsLedger) {
  const RunSummary part = deploy(2);
  ASSERT_EQ(part.stopped, StopReason::kInterrupted);
  const std::string key = slurp(part.dir / kNoiseKeyFile);
  const RunSummary whole = deploy(0, part.dir.string());
  EXPECT_EQ(slurp(whole.dir / kNoiseKeyFile), key);
  EXPECT_EQ(simulated_with(whole.dir / kNoiseKeyFile), whole.signature);
}

TEST_F(PrivateDeployedRun, PaysForRoundsThatWereLostUnlessTheyAreMadeAgainAsTheyWere) {
  const ScratchFolder folder;
  {
    const auto record = NoiseRecord::open(folder.path(), {}, true);
    ASSERT_TRUE(record.ok()) << record.error().message;
    (*record)->leaves(1, 0xa1);
    (*record)->leaves(2, 0xa2);
    EXPECT_EQ((*record)->take_repeated(), 0u);
  }
  const auto again = NoiseRecord::open(folder.path(), {}, false);  // as after a kill that lost both
  ASSERT_TRUE(again.ok());
  (*again)->leaves(1, 0xa1);
  EXPECT_EQ((*again)->take_repeated(), 0u);
  (*again)->leaves(2, 0xb2);
  EXPECT_EQ((*again)->take_repeated(), 1u);
  (*again)->leaves(3, 0xa3);
  EXPECT_EQ((*again)->take_repeated(), 0u);
  EXPECT_TRUE((*again)->failed().ok());
}

TEST_F(PrivateDeployedRun, RefusesKeysThatAreNoneOrThatOthersCanRead) {
  const ScratchFolder folder;
  const std::filesystem::path key = folder.write("key", std::string("not a key\n"));
  std::filesystem::permissions(key, std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  EXPECT_FALSE(NoiseRecord::open(folder.path(), key, false).ok());
  const auto none = NoiseRecord::open(folder.path(), {}, false);
  ASSERT_TRUE(none.ok());
  EXPECT_EQ(*none, nullptr);
  ASSERT_TRUE(NoiseRecord::open(folder.path(), {}, true).ok());
  std::filesystem::permissions(folder.path() / kNoiseKeyFile, std::filesystem::perms::others_read,
                               std::filesystem::perm_options::add);
  EXPECT_FALSE(NoiseRecord::open(folder.path(), {}, true).ok());
}

Recipe private_sums(const Settings& more) {
  Settings all{"rounds=3",
               "dp.clip=1.0",
               "aggregation.global=uniform",
               "aggregation.in-group=secure-sum",
               "grouping.method=random",
               "grouping.size=4",
               "plan.sample-clients=12"};
  all.insert(all.end(), more.begin(), more.end());
  return small(all);
}

// Clients that add noise themselves, to what they sum or to the labels that they tell, have keys of their own for it.
class NoiseOfClients : public PrivateDeployedRun, public testing::WithParamInterface<bool> {};

INSTANTIATE_TEST_SUITE_P(, NoiseOfClients, testing::Bool(),
                         [](const auto& param_info) { return param_info.param ? "sums" : "labels"; });

TEST_P(NoiseOfClients, IsRepeatedByWhoeverHasTheirKeys) {
  const Recipe recipe = GetParam() ? private_sums({"dp.noise-multiplier=2.0"})
                                   : small({"rounds=2", "profile.kind=label-histogram", "profile.epsilon=0.5",
                                            "grouping.method=mediator", "grouping.size=4"});
  const auto deployed = [&](const std::string& states, const std::filesystem::path& key, std::uint32_t edges) {
    DeploymentInMemory deployment({.edges = edges, .states = states_.path() / states, .noise_key = key});
    SimulationOptions wanted = options(1);
    wanted.secret_noise = true;
    wanted.federation = deployment.maker();
    const auto summary = simulate(recipe, wanted);
    EXPECT_TRUE(summary.ok()) << summary.error().message;
    return summary.ok() ? *summary : RunSummary{};
  };
  const ScratchFolder keys;
  ASSERT_TRUE(keep_noise_key(keys.path(), {}, true).ok());
  const std::filesystem::path key = keys.path() / kNoiseKeyFile;
  SimulationOptions wanted = options(1);
  wanted.noise_key = key;
  const auto simulated = simulate(recipe, wanted);
  ASSERT_TRUE(simulated.ok()) << simulated.error().message;
  for (const std::uint32_t edges : {0u, 1u}) {
    const RunSummary shared = deployed(fmt::format("shared-{}", edges), key, edges);
    EXPECT_EQ(shared.signature, simulated->signature) << edges;
    EXPECT_FALSE(std::filesystem::exists(shared.dir / kNoiseKeyFile)) << "the cloud has none";
  }
  EXPECT_NE(run(recipe).signature, simulated->signature) << "noise from the seed";
  const RunSummary own = deployed("own", {}, 0);
  EXPECT_NE(own.signature, simulated->signature);
  std::set<std::string> drawn;
  for (const char* const process : {"0", "1", "2"}) drawn.insert(slurp(states_.path() / "own" / process / "noise.key"));
  EXPECT_EQ(drawn.size(), 3u);
  EXPECT_FALSE(drawn.contains(""));
}

TEST_F(PrivateDeployedRun, OfSecureSumsHasNoiseOfItsMembers) {
  const auto with = private_sums;
  const RunSummary one = run(with({"dp.noise-multiplier=2.0", "faults.drop=0.1"}), 1);
  EXPECT_EQ(run(with({"dp.noise-multiplier=2.0", "faults.drop=0.1"}), 3).signature, one.signature);
  PrivacyAccountant accountant;
  accountant.add_sampled_gaussian(1, 2, 3);
  EXPECT_DOUBLE_EQ(epsilon_of_last(one), accountant.epsilon(1e-5)) << "the server knows whom it drew";
  EXPECT_FALSE(std::filesystem::exists(one.dir / kNoiseKeyFile));
  // Hardly any noise: as if there were none, but for the clip.
  const RunSummary faint = run(with({"dp.noise-multiplier=0.001"}));
  const RunSummary noisy = run(with({"dp.noise-multiplier=100.0"}));
  EXPECT_GT(*faint.accuracy_last, *noisy.accuracy_last);
  const auto refused = [&](const std::string& setting) {
    const Status status = check_recipe(with({setting}));
    return status ? "accepted" : status.error().message;
  };
  EXPECT_EQ(refused("dp.noise-multiplier=2.0"), "accepted");
  EXPECT_NE(refused("secure.neighbours=2").find("secure.neighbours: 2 does not go with dp.clip"), std::string::npos);
  EXPECT_NE(refused("secure.most-samples=64").find("secure.most-samples: 64"), std::string::npos);
  EXPECT_NE(refused("training.group-rounds=2").find("training.group-rounds: 2"), std::string::npos);
}

TEST_F(PrivateDeployedRun, HasNoiseThatIsNormalAndBelongsToItsSum) {
  const NoiseKey key{SeededKeys({.seed = 1}).key()};
  std::vector<double> sum(100, 0.25);
  SecretNoise noise(key, 1, sum);
  double mean = 0;
  double squares = 0;
  double fourth = 0;
  constexpr int kDraws = 200'000;
  for (int i = 0; i < kDraws; ++i) {
    const double x = noise.normal();
    mean += x / kDraws;
    squares += x * x / kDraws;
    fourth += x * x * x * x / kDraws;
  }
  EXPECT_NEAR(mean, 0, 0.01);
  EXPECT_NEAR(squares, 1, 0.015);
  EXPECT_NEAR(fourth, 3, 0.1);
  SecretNoise same(key, 1, sum);
  SecretNoise later(key, 2, sum);
  EXPECT_EQ(same.release(), noise.release());
  EXPECT_NE(later.release(), noise.release());
  const double first = same.normal();
  EXPECT_NE(later.normal(), first);
  sum[7] = std::nextafter(sum[7], 1.0);
  SecretNoise other(key, 1, sum);
  EXPECT_NE(other.release(), noise.release());
  EXPECT_NE(other.normal(), first);
  SecretNoise repeated(key, 1, std::vector<double>(100, 0.25));
  EXPECT_EQ(repeated.normal(), first);
}

}  // namespace
}  // namespace muster
