// The store as others use it: what it tells of runs is what their folders hold.
#include "store/store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <thread>

#include "base/file.h"
#include "engine/small_run.h"
#include "record/run_lock.h"
#include "store/run_json.h"
#include "store/store_keeper.h"

namespace muster {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class StoreTest : public SimulationTest {
 protected:
  std::filesystem::path out() { return folder_.path() / "runs"; }

  Store opened() {
    Result<Store> store = Store::open_file(out());
    EXPECT_TRUE(store.ok()) << store.error().message;
    EXPECT_TRUE(store->refresh().ok());
    return std::move(store).value();
  }
  RunSummary run_of(const Settings& settings, const std::string& name = "") {
    SimulationOptions o = options();
    o.folder = name;
    const auto summary = simulate(small(settings), o);
    EXPECT_TRUE(summary.ok()) << summary.error().message;
    return summary.ok() ? *summary : RunSummary{};
  }
};

TEST_F(StoreTest, TellsWhatTheFolderHolds) {
  const RunSummary summary = run_of({"grouping.method=random", "grouping.size=4", "plan.regroup-every=3"});
  const Store store = opened();
  const StoredRun run = *store.find(summary.run);
  EXPECT_EQ(run.recipe, "small");
  EXPECT_EQ(run.signature, summary.signature);
  EXPECT_EQ(run.stopped, "rounds");
  EXPECT_EQ(run.condition, RunCondition::kOver);
  EXPECT_EQ(run.rounds, 6u);
  EXPECT_EQ(run.rounds_planned, 6u);
  EXPECT_EQ(run.accuracy_last, summary.accuracy_last);
  EXPECT_EQ(run.clients, 12u);
  EXPECT_EQ(run.bytes, summary.bytes_up + summary.bytes_down);
  EXPECT_DOUBLE_EQ(run.cost_s, summary.cost_s());
  EXPECT_EQ(run.fault, "");
  EXPECT_FALSE(run.deployed);
  EXPECT_EQ(nlohmann::json::parse(run.summary), nlohmann::json::parse(to_json(summary)));

  const auto lines = json_lines(summary.dir / "rounds.jsonl");
  const std::vector<StoredRound> rounds = *store.rounds(run.id);
  ASSERT_EQ(rounds.size(), lines.size());
  for (std::size_t i = 0; i < lines.size(); ++i) {
    EXPECT_EQ(rounds[i].round, i + 1);
    EXPECT_EQ(rounds[i].train_loss, lines[i]["train_loss"].get<double>());
    EXPECT_EQ(rounds[i].accuracy, lines[i]["accuracy"].get<double>());
    EXPECT_EQ(rounds[i].bytes_up, lines[i]["bytes_up"].get<std::uint64_t>());
    EXPECT_EQ(rounds[i].participants, lines[i]["participants"].get<std::uint32_t>());
  }
  EXPECT_THAT(*store.rounds(run.id, 4), SizeIs(2));

  const std::vector<StoredGrouping> groupings = *store.groupings(run.id);
  ASSERT_THAT(groupings, SizeIs(2));
  EXPECT_EQ(groupings[1].round, 4u);
  EXPECT_EQ(groupings[1].method, "random");
  EXPECT_THAT(groupings[1].sizes, ElementsAre(4, 4, 4));
  std::ifstream in(summary.dir / "groups.jsonl");
  in.seekg(static_cast<std::streamoff>(groupings[1].offset));
  std::string line(groupings[1].bytes, ' ');
  in.read(line.data(), static_cast<std::streamsize>(line.size()));
  EXPECT_EQ(nlohmann::json::parse(line)["round"], 4);

  EXPECT_THAT(*store.clients(run.id), SizeIs(12));
  const auto recipe = *store.recipe(run.id);
  EXPECT_EQ(recipe.at("grouping.size"), "4");
  EXPECT_EQ(recipe.at("model.name"), "mlp");
  EXPECT_EQ(recipe.at("local.learning-rate"), "0.1");
  EXPECT_EQ(recipe.at("model.hidden"), "[16]");
}

}  // namespace
}  // namespace muster
