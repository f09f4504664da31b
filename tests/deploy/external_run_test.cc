// A cloud merges a model that it knows as a list of tensors just as it merges a network of its own: clients that train
// the same get the same, whatever groups them and merges them.
#include <gtest/gtest.h>

#include "base/random.h"
#include "deploy/deployment_in_memory.h"
#include "engine/run_records.h"
#include "engine/saved_run.h"
#include "record/weights_file.h"

namespace muster {
namespace {

using testing::HasSubstr;

class ExternalRun : public SimulationTest {
 protected:
  // The recipe with its network replaced by the file of that network's first weights.
  Recipe external(const Recipe& own) {
    const auto data = make_federated_data(own.data, own.seed);
    EXPECT_TRUE(data.ok());
    network_ = make_network(own.model, (*data)->shape(), (*data)->classes()).value();
    std::vector<float> first(network_->size());
    Stream stream({.seed = own.seed, .purpose = Purpose::kInitialise});
    network_->initialise(first, stream);
    EXPECT_TRUE(write_safetensors(folder_ / "first.safetensors", *network_, first, {}).ok());
    Recipe recipe = own;
    recipe.model = {.name = "external", .path = (folder_ / "first.safetensors").string()};
    std::erase_if(recipe.given, [](const GivenKey& given) { return given.key.starts_with("model."); });
    return recipe;
  }

  // Clients are told the recipe of `own` instead, and train its network.
  Result<RunSummary> deploy(const Recipe& recipe, const Recipe& own, std::uint32_t edges = 0) {
    const std::string told = format_recipe(own);
    DeploymentInMemory deployment({.edges = edges, .states = folder_ / "states", .tap = [told](v1::Frame& frame, bool) {
                                     if (frame.has_welcome()) frame.mutable_welcome()->set_recipe(told);
                                     return true;
                                   }});
    SimulationOptions wanted = options(1);
    wanted.federation = deployment.maker();
    return simulate(recipe, wanted);
  }

  std::vector<float> weights_of(const RunSummary& run, const std::string& file = "model.safetensors") {
    const auto flat = read_safetensors(run.dir / file, *network_);
    EXPECT_TRUE(flat.ok()) << flat.error().message;
    return flat.ok() ? *flat : std::vector<float>{};
  }

  std::shared_ptr<const Network> network_;
};

TEST_F(ExternalRun, EndsWithTheWeightsOfANetworkOfOnesOwn) {
  const std::vector<Settings> methods{
      {},
      {"aggregation.global=adam", "aggregation.server-learning-rate=0.05"},
      {"local.objective=control-variate", "aggregation.global=control-variate"},
      {"profile.kind=label-histogram", "grouping.method=mediator", "grouping.size=3", "training.mode=sequential"},
      {"profile.kind=update-direction", "grouping.method=decomposed-cosine", "grouping.groups=2",
       "aggregation.global=none"},
  };
  for (const Settings& method : methods) {
    SCOPED_TRACE(method.empty() ? "plain" : method.front());
    Recipe own = small({"rounds=3", "evaluation.on=clients", "plan.sample-clients=12"});
    for (const std::string& setting : method) ASSERT_TRUE(apply_setting(own, setting).ok()) << setting;
    const RunSummary wanted = run(own);
    const auto summary = deploy(external(own), own, method.empty() ? 1 : 0);
    ASSERT_TRUE(summary.ok()) << summary.error().message;
    EXPECT_EQ(weights_of(*summary), weights_of(wanted));
    EXPECT_EQ(summary->accuracy_last, wanted.accuracy_last);
    EXPECT_EQ(summary->models, wanted.models);
    if (wanted.models > 1) {
      EXPECT_EQ(weights_of(*summary, "model-1.safetensors"), weights_of(wanted, "model-1.safetensors"));
    }
  }
}

TEST_F(ExternalRun, CannotBeSimulatedNorForecastNorBegunWithoutItsFile) {
  const Recipe own = small();
  const Recipe recipe = external(own);
  const auto simulated = simulate(recipe, options(1));
  ASSERT_FALSE(simulated.ok());
  EXPECT_EQ(simulated.error().code, ErrorCode::kUsage);
  EXPECT_THAT(simulated.error().message, HasSubstr("cannot be simulated; run it with `muster cloud`"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "runs"));
  std::ofstream(folder_ / "first.safetensors") << "torn";
  const auto torn = deploy(recipe, own);
  ASSERT_FALSE(torn.ok());
  EXPECT_THAT(torn.error().message, HasSubstr("first.safetensors: truncated"));
}

// Whoever opens the run afterwards needs none of the files that it began with.
TEST_F(ExternalRun, IsReadBackFromItsOwnFolder) {
  const Recipe own = small({"rounds=1", "evaluation.on=clients"});
  const auto summary = deploy(external(own), own);
  ASSERT_TRUE(summary.ok()) << summary.error().message;
  std::filesystem::remove(folder_ / "first.safetensors");
  auto saved = SavedRun::open(folder_ / "runs", summary->run);
  ASSERT_TRUE(saved.ok()) << saved.error().message;
  EXPECT_TRUE(saved->network()->external());
  EXPECT_TRUE(std::ranges::equal(saved->network()->tensors(), network_->tensors()));
  const auto weights = saved->weights({});
  ASSERT_TRUE(weights.ok()) << weights.error().message;
  EXPECT_EQ(*weights, weights_of(*summary));
}

// The client's own program refuses, and the cloud goes on without it.
TEST_F(ExternalRun, ClientsOfMustersOwnSayThatTheyCannotTrainIt) {
  const Recipe recipe = external(small());
  ClientRunOptions options;
  options.clients = {{0, 1}};
  const Answerer::Options answers = client_answers(options);
  v1::Welcome welcome;
  welcome.set_run("small-s1");
  welcome.set_recipe(format_recipe(recipe));
  const auto refused = answers.begin(welcome);
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message, HasSubstr("its clients bring a program that trains it"));
}

}  // namespace
}  // namespace muster
