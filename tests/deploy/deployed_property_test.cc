// A deployed run leaves the records of its simulation, all of them, for any composition, with any number of edges, also
// when it is interrupted, or killed, and resumed. MUSTER_COMPOSITIONS says how many compositions (default: 5), and
// MUSTER_COMPOSITION with which to begin.
#include <gtest/gtest.h>

#include <cstdlib>

#include "deploy/deployment_in_memory.h"
#include "engine/random_composition.h"
#include "engine/run_records.h"
#include "record/checkpoint.h"

namespace muster {
namespace {

std::uint32_t number_from_environment(const char* name, std::uint32_t otherwise) {
  const char* const given = std::getenv(name);
  return given ? static_cast<std::uint32_t>(std::stoul(given)) : otherwise;
}

class DeployedProperty : public SimulationTest {
 protected:
  // Runs, or resumes, with processes that remember in `states`, until `stop` rounds are done (0: to the end).
  Result<RunSummary> go(const Recipe* recipe, const std::string& run, const std::filesystem::path& states,
                        std::uint32_t edges, std::uint32_t stop) {
    DeploymentInMemory deployment({.edges = edges, .states = states});
    std::atomic<bool> interrupt{false};
    SimulationOptions wanted = options(1);
    wanted.interrupt = &interrupt;
    wanted.on_round = [&](std::uint32_t round) { interrupt = stop > 0 && round >= stop; };
    wanted.federation = [&](const Recipe& settled, std::unique_ptr<LocalFederation> here,
                            const std::filesystem::path& folder) {
      return deployment.make(settled, std::move(here), folder);
    };
    return recipe ? simulate(*recipe, wanted) : resume(run, {}, wanted);
  }

  void check(std::uint32_t number) {
    const Settings settings = RandomComposition(6000 + number).draw();
    const Recipe recipe = recipe_of({settings});
    std::string described = fmt::format("MUSTER_COMPOSITION={}: ", number);
    for (const std::string& setting : settings) described += setting + " ";
    SCOPED_TRACE(described);

    Stream stream({.seed = number, .purpose = Purpose::kTest, .part = 3});
    const std::uint32_t edges = number % 3;
    const auto simulated = simulate(recipe, options());
    const ScratchFolder kept;
    const auto whole = go(&recipe, "", kept.path() / "whole", edges, 0);
    ASSERT_EQ(simulated.ok(), whole.ok()) << (whole.ok() ? simulated : whole).error().message;
    if (!simulated.ok()) {
      EXPECT_EQ(whole.error().message, simulated.error().message);
      return;
    }
    ++compared_;
    const Records wanted = records_of(*simulated);
    expect_equal(records_of(*whole), wanted, fmt::format("with {} edges", edges));

    // The same clients, who may dial others than before.
    auto part = go(&recipe, "", kept.path() / "parts", edges, 1 + stream.below(3));
    ASSERT_TRUE(part.ok()) << part.error().message;
    for (int again = 0; again < 4 && part->stopped == StopReason::kInterrupted; ++again) {
      const auto files = list_checkpoints(part->dir / "checkpoint");
      if (files.size() > 1 && stream.below(2) == 0) std::filesystem::remove(files.front());  // as a kill does
      const std::uint32_t stop = again < 2 ? part->rounds + 1 + stream.below(2) : 0;
      part = go(nullptr, part->dir.string(), kept.path() / "parts", stream.below(3), stop);
      ASSERT_TRUE(part.ok()) << part.error().message;
    }
    expect_equal(records_of(*part), wanted, "interrupted and resumed");
    std::filesystem::remove_all(folder_.path() / "runs");
  }

  std::uint32_t compared_ = 0;
};

TEST_F(DeployedProperty, HoldsForRandomCompositions) {
  const std::uint32_t first = number_from_environment("MUSTER_COMPOSITION", 0);
  const std::uint32_t count = number_from_environment("MUSTER_COMPOSITIONS", 5);
  // Some do not fit the data, and are refused.
  for (std::uint32_t number = first; compared_ < count && number < first + 20 * count && !HasFailure(); ++number) {
    check(number);
  }
  EXPECT_EQ(compared_, count);
}

}  // namespace
}  // namespace muster
