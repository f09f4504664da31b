// A deployed run has the signature of its simulation: every composition and every built-in recipe, with clients that
// dial the cloud, or with one or two edges between: one of the three each, with MUSTER_DEPLOYMENTS=all all of them.
#include <gtest/gtest.h>

#include <cstdlib>

#include "deploy/deployment_in_memory.h"
#include "engine/run_records.h"
#include "engine/stored_signatures.h"
#include "recipe/choices.h"
#include "thread_sanitizer.h"

namespace muster {
namespace {

class Deployed : public SimulationTest, public testing::WithParamInterface<Stored> {
 protected:
  RunSummary run_deployed(const Recipe& recipe, DeploymentShape shape) {
    DeploymentInMemory deployment(std::move(shape));
    SimulationOptions wanted = options(1);
    wanted.federation = deployment.maker();
    const auto summary = simulate(recipe, wanted);
    EXPECT_TRUE(summary.ok()) << summary.error().message;
    return summary.ok() ? *summary : RunSummary{};
  }
};

INSTANTIATE_TEST_SUITE_P(, Deployed, testing::ValuesIn(all_stored(current_isa())),
                         [](const auto& param_info) { return test_name(param_info.param.name); });

TEST_P(Deployed, SignatureIsThatOfTheSimulation) {
  const Stored& wanted = GetParam();
  const auto found = stored_signatures().find(fmt::format("{} {}", wanted.name, name(wanted.isa)));
  ASSERT_NE(found, stored_signatures().end());
  // Kernels that ThreadSanitizer watches round in another way.
  const std::string simulated = kThreadSanitizer ? run(wanted.recipe()).signature : found->second;
  const char* const which = std::getenv("MUSTER_DEPLOYMENTS");
  const bool all = which && std::string_view(which) == "all";
  for (const std::uint32_t edges : {0u, 1u, 2u}) {
    if (!all && wanted.name.size() % 3 != edges) continue;
    const ScratchFolder states;
    const RunSummary summary = run_deployed(wanted.recipe(), {.edges = edges, .states = states.path()});
    EXPECT_EQ(summary.signature, simulated) << edges << " edges";
  }
}

}  // namespace
}  // namespace muster
