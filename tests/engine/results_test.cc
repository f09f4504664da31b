// What a run leaves behind when it is over.
#include "engine/results.h"

#include "fake_run.h"

namespace muster {
namespace {

using testing::HasSubstr;

TEST(Results, NamesOfClientsAreQuotedAndGoneModelsRemoved) {
  FakeFederation federation(std::vector<FakeClient>{
      {10, 10, 1, "plain"}, {10, 0, 1, "a,b"}, {10, 10, 1, "say \"hi\""}, {0, 10, 1, "two\nlines"}});
  federation.gone = [](std::uint32_t, ClientId client) { return client.value == 1; };
  Recipe recipe = groups_of_size(2, 1);
  recipe.aggregation.global = "none";
  FakeRun run(recipe, federation);
  for (const char* stale : {"model-2.safetensors", "model-3.safetensors", "model-4.safetensors"}) {
    ASSERT_TRUE(run.folder->write(stale, "old").ok());
  }
  const StopReason reason = run.go();
  const RunSummary summary = summarise(recipe, *run.loop, federation, nullptr, *run.folder, reason, "three clients");
  ASSERT_TRUE(write_results(summary, *run.loop, federation, "{}", *run.folder).ok());
  EXPECT_EQ(summary.rounds, 2u);
  EXPECT_EQ(summary.clients, 4u);
  EXPECT_EQ(summary.idle, 1u);
  EXPECT_EQ(summary.signature, run.loop->signature());
  EXPECT_EQ(summary.group_size_max, 1);
  EXPECT_EQ(summary.bytes_up, run.loop->state().totals.bytes_up);
  const std::uint32_t groups = run.loop->groups().grouping().count();
  EXPECT_EQ(summary.groups, groups);
  EXPECT_EQ(summary.models, groups);
  const auto has = [&](std::uint32_t g) {
    return std::filesystem::exists(run.folder->path() / fmt::format("model-{}.safetensors", g));
  };
  for (std::uint32_t g = 0; g < 6; ++g) EXPECT_EQ(has(g), g < groups) << g;
  std::ifstream in(run.folder->path() / "clients.csv");
  const std::string csv{std::istreambuf_iterator<char>(in), {}};
  EXPECT_THAT(csv, HasSubstr("\n0,plain,10,"));
  EXPECT_THAT(csv, HasSubstr("\n1,\"a,b\",10,"));
  EXPECT_THAT(csv, HasSubstr(",0,2,\n2,\"say \"\"hi\"\"\",10,"));     // client 1 dropped twice, and has no test samples
  EXPECT_THAT(csv, HasSubstr(",2,0,0.1\n3,\"two\nlines\",0,,0,0,"));  // client 3 is in no group
}

}  // namespace
}  // namespace muster
