// Methods that look for clusters find those of MNIST whose digits are turned by 0, 90, 180 and 270 degrees: every
// client is with its like. Where MNIST is not on this machine these tests are skipped, by name.
#include "data/catalogue.h"
#include "small_run.h"

namespace muster {
namespace {

struct Method {
  const char* name;
  Settings settings;
};
std::ostream& operator<<(std::ostream& out, const Method& method) {
  return out << method.name;
}

class RotatedMnist : public SimulationTest, public testing::WithParamInterface<Method> {};

INSTANTIATE_TEST_SUITE_P(
    , RotatedMnist,
    testing::Values(Method{"ChoosingByLoss",
                           {"rounds=10", "profile.kind=losses", "grouping.method=argmin-loss", "grouping.groups=4",
                            "aggregation.in-group=uniform"}},
                    Method{"NearestCentreAfterTrainingAlone",
                           {"rounds=4", "profile.kind=update-direction", "profile.epochs=1.0",
                            "grouping.method=nearest-centre", "grouping.groups=4", "aggregation.in-group=uniform",
                            "newcomers.assign=nearest-model", "newcomers.rejoin=true"}},
                    Method{"SplitAgainAndAgain",
                           {"rounds=24", "profile.kind=update-direction", "grouping.method=bipartition",
                            "grouping.epsilon-mean=0.2", "plan.regroup-on=bipartition", "plan.regroup-round=6",
                            "plan.calibrate-round=5", "aggregation.in-group=uniform"}},
                    Method{"ClusteredOnce",
                           {"rounds=6", "profile.kind=update-direction", "grouping.method=agglomerative",
                            "grouping.metric=cosine", "grouping.linkage=complete", "grouping.threshold=0.8",
                            "plan.regroup-on=round", "plan.regroup-round=5"}}),
    [](const auto& method) { return std::string(method.param.name); });

TEST_P(RotatedMnist, EveryClientIsWithItsLike) {
  const auto state = source_state("mnist");
  ASSERT_TRUE(state.ok());
  if (!state->found) GTEST_SKIP() << "RotatedMnist needs MNIST, which is not on this machine: muster data get mnist";
  const RunSummary summary =
      run(recipe_of({{"data.source=mnist", "data.partition=rotations", "data.rotations=4", "data.clients=16",
                      "data.samples-min=300", "data.samples-max=300", "data.test-fraction=0.2", "model.name=mlp",
                      "model.hidden=[32]", "local.epochs=2", "local.batch-size=20", "local.learning-rate=0.1",
                      "evaluation.every=100", "aggregation.global=none"},
                     GetParam().settings}),
          2);
  ASSERT_TRUE(summary.truth);
  EXPECT_EQ(summary.truth->correct, 16u);
}

}  // namespace
}  // namespace muster
