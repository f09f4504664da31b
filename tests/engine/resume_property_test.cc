// A run ends the same however often it was interrupted, killed and resumed, also after its end, also when it is
// extended: in every record, for any composition.
#include "random_composition.h"
#include "record/checkpoint.h"
#include "run_records.h"

namespace muster {
namespace {

using Json = nlohmann::json;

class ResumeProperty : public SimulationTest, public testing::WithParamInterface<std::uint32_t> {
 protected:
  // Runs, or resumes, until `stop` rounds are done (0: to the end).
  Result<RunSummary> go(const Recipe* recipe, const std::string& run, const Settings& settings, std::uint32_t stop) {
    std::atomic<bool> interrupt{false};
    SimulationOptions o = options(1 + stop % 2);
    o.interrupt = &interrupt;
    o.on_round = [&](std::uint32_t round) { interrupt = stop > 0 && round + 1 >= stop; };
    return recipe ? simulate(*recipe, o) : resume(run, settings, o);
  }
};

INSTANTIATE_TEST_SUITE_P(, ResumeProperty, testing::Range(0u, 60u));

TEST_P(ResumeProperty, HoldsForARandomComposition) {
  RandomComposition composition(GetParam());
  Settings settings = composition.draw();
  const Recipe recipe = recipe_of({settings});
  std::string described;
  for (const std::string& setting : settings) described += setting + " ";
  SCOPED_TRACE(described);

  const auto whole = go(&recipe, "", {}, 0);
  if (!whole.ok()) {
    // What does not fit the data is refused before anything is trained, and leaves nothing behind.
    EXPECT_EQ(whole.error().code, ErrorCode::kUsage) << whole.error().message;
    EXPECT_TRUE(std::filesystem::is_empty(folder_.path() / "runs"));
    return;
  }
  const Records wanted = records_of(*whole);

  Stream stream({.seed = GetParam(), .purpose = Purpose::kTest, .part = 1});
  auto part = go(&recipe, "", {}, 1 + stream.below(4));
  ASSERT_TRUE(part.ok()) << part.error().message;
  for (int again = 0; again < 6 && part->stopped == StopReason::kInterrupted; ++again) {
    if (stream.below(2) == 0) {  // as a kill does: what came after the checkpoint before is lost
      const auto files = list_checkpoints(part->dir / "checkpoint");
      std::filesystem::remove(files.front());
    }
    part = go(nullptr, part->dir.string(), {}, again < 3 ? part->rounds + 1 + stream.below(2) : 0);
    ASSERT_TRUE(part.ok()) << part.error().message;
  }
  expect_equal(records_of(*part), wanted, "interrupted");

  // Resuming a run that is over changes nothing.
  const auto over = go(nullptr, part->dir.string(), {}, 0);
  ASSERT_TRUE(over.ok()) << over.error().message;
  expect_equal(records_of(*over), wanted, "resumed after its end");

  // A short run that is extended.
  Recipe shorter = recipe;
  shorter.rounds = 1 + stream.below(4);
  const auto first = go(&shorter, "", {}, 0);
  ASSERT_TRUE(first.ok()) << first.error().message;
  ASSERT_TRUE(go(nullptr, first->dir.string(), {}, 0).ok());
  const auto extended = go(nullptr, first->dir.string(), {fmt::format("rounds={}", recipe.rounds)}, 0);
  ASSERT_TRUE(extended.ok()) << extended.error().message;
  expect_equal(records_of(*extended), wanted, "extended");
}

TEST_P(ResumeProperty, RecordsAddUp) {
  RandomComposition composition(1000 + GetParam());
  const Settings settings = composition.draw();
  std::string described;
  for (const std::string& setting : settings) described += setting + " ";
  SCOPED_TRACE(described);
  const auto one = simulate(recipe_of({settings}), options(1));
  if (!one.ok()) {
    EXPECT_EQ(one.error().code, ErrorCode::kUsage) << one.error().message;
    return;
  }
  const Records records = records_of(*one);
  const auto three = simulate(recipe_of({settings}), options(3));
  ASSERT_TRUE(three.ok());
  expect_equal(records_of(*three), records, "at three threads");

  std::map<std::uint32_t, std::uint32_t> trained;
  std::map<std::uint32_t, std::uint32_t> dropped;
  std::uint64_t bytes_up = 0;
  std::uint64_t sums = 0;
  std::uint64_t abandoned = 0;
  std::optional<double> best;
  std::uint32_t participants = 0;
  for (const Json& round : records.rounds) {
    std::set<std::uint32_t> gone;
    for (const Json& drop : round["dropped"]) {
      EXPECT_TRUE(gone.insert(drop["client"].get<std::uint32_t>()).second) << "dropped twice: " << round;
      ++dropped[drop["client"].get<std::uint32_t>()];
    }
    EXPECT_LE(round["participants"].get<std::uint32_t>() + gone.size(), one->clients) << round;
    participants += round["participants"].get<std::uint32_t>();
    bytes_up += round["bytes_up"].get<std::uint64_t>();
    if (!round.contains("secure")) continue;
    sums += round["secure"]["sums"].get<std::uint64_t>();
    abandoned += round["secure"]["abandoned"].get<std::uint64_t>();
  }
  EXPECT_EQ(bytes_up, one->bytes_up);
  EXPECT_EQ(sums, one->sums);
  EXPECT_EQ(abandoned, one->sums_abandoned);
  std::istringstream table(records.clients);
  std::string line;
  std::getline(table, line);
  std::uint32_t visits = 0;
  for (std::uint32_t k = 0; std::getline(table, line); ++k) {
    std::istringstream cells(line);
    std::vector<std::string> cell;
    for (std::string c; std::getline(cells, c, ',');) cell.push_back(c);
    EXPECT_EQ(static_cast<std::uint32_t>(std::stoul(cell.at(5))), dropped[k]) << line;
    visits += static_cast<std::uint32_t>(std::stoul(cell.at(4)));
  }
  EXPECT_EQ(visits, participants);
}

}  // namespace
}  // namespace muster
