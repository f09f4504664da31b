// A run leaves the same records on any number of ranks, also when it is interrupted and goes on on another number, for
// any composition.
#include "random_composition.h"
#include "run_records.h"
#include "thread_job.h"

namespace muster {
namespace {

class RankProperty : public SimulationTest, public testing::WithParamInterface<std::uint32_t> {
 protected:
  // Runs, or resumes, on so many ranks, until `stop` rounds are done (0: to the end).
  Result<RunSummary> go(const Recipe* recipe, const std::string& run, std::uint32_t ranks, std::uint32_t stop) {
    ThreadJob job(ranks);
    std::atomic<bool> interrupt{false};
    SimulationOptions o = options(1 + GetParam() % 2);
    o.ranks = &job.first();
    o.interrupt = &interrupt;
    o.on_round = [&](std::uint32_t round) { interrupt = stop > 0 && round >= stop; };
    return recipe ? simulate(*recipe, o) : resume(run, {}, o);
  }
};

INSTANTIATE_TEST_SUITE_P(, RankProperty, testing::Range(0u, 60u));

TEST_P(RankProperty, HoldsForARandomComposition) {
  const Settings settings = RandomComposition(3000 + GetParam()).draw();
  const Recipe recipe = recipe_of({settings});
  std::string described;
  for (const std::string& setting : settings) described += setting + " ";
  SCOPED_TRACE(described);

  const auto alone = simulate(recipe, options());
  const auto two = go(&recipe, "", 2, 0);
  ASSERT_EQ(alone.ok(), two.ok());
  if (!alone.ok()) {
    EXPECT_EQ(two.error().message, alone.error().message);
    return;
  }
  const Records wanted = records_of(*alone);
  expect_equal(records_of(*two), wanted, "on two ranks");

  Stream stream({.seed = GetParam(), .purpose = Purpose::kTest, .part = 2});
  const std::uint32_t before = 1 + stream.below(3);
  const std::uint32_t after = 1 + (before + stream.below(2)) % 3;  // another number
  const auto part = go(&recipe, "", before, 1 + stream.below(3));
  ASSERT_TRUE(part.ok()) << part.error().message;
  const auto resumed = go(nullptr, part->dir.string(), after, 0);
  ASSERT_TRUE(resumed.ok()) << resumed.error().message;
  expect_equal(records_of(*resumed), wanted, fmt::format("on {} ranks, then on {}", before, after));
}

}  // namespace
}  // namespace muster
