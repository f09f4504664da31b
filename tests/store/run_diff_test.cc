#include "store/run_diff.h"

#include <gmock/gmock.h>

#include "store/run_scene.h"

namespace muster {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

class RunDifferences : public RunScene {
 protected:
  RunDiff diff(const Store& store, const char* a, const char* b) {
    const auto found = diff_runs(store, *store.find(a), *store.find(b));
    EXPECT_TRUE(found.ok()) << found.error().message;
    return *found;
  }
};

TEST_F(RunDifferences, RunsThatAreEqualDifferInNothing) {
  for (const char* id : {"a", "b"}) {
    make_run(id, 3);
    write(id, "summary.json", summary_text(id, 3));
  }
  const Store store = opened();
  const RunDiff found = diff(store, "a", "b");
  EXPECT_THAT(found.recipe, IsEmpty());
  EXPECT_THAT(found.data, IsEmpty());
  EXPECT_THAT(found.result, IsEmpty());
  EXPECT_EQ(found.first_round, std::nullopt);
}

TEST_F(RunDifferences, SaysWhatDiffersAndWhere) {
  make_run("a", 3);
  make_run("b", 2);
  write("b", "recipe.toml", "name = \"made\"\nrounds = 10\nseed = 7\n[data]\nalpha = 0.1\n[local]\nepochs = 2\n");
  append("b", "rounds.jsonl", round_line(3, 0.7));
  write("a", "summary.json", summary_text("a", 3));
  write("b", "summary.json", summary_text("b", 3, "target"));
  const Store store = opened();
  const RunDiff found = diff(store, "a", "b");
  ASSERT_THAT(found.recipe, SizeIs(2));
  EXPECT_EQ(found.recipe[0].key, "local.epochs");
  EXPECT_EQ(found.recipe[0].a, nullptr);
  EXPECT_EQ(found.recipe[0].b, "2");
  EXPECT_EQ(found.recipe[1].key, "model.name");
  ASSERT_THAT(found.data, SizeIs(1));
  EXPECT_EQ(found.data[0].key, "data.alpha");
  ASSERT_THAT(found.result, SizeIs(1));
  EXPECT_EQ(found.result[0].key, "stopped");
  EXPECT_EQ(found.result[0].b, "target");
  EXPECT_EQ(found.first_round, 3u);
}

}  // namespace
}  // namespace muster
