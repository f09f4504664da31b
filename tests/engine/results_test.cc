// What a run leaves behind when it is over.
#include "engine/results.h"

#include "fake_run.h"
#include "record/weights_file.h"

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
  RunSummary summary = summarise(recipe, *run.loop, federation, nullptr, *run.folder, reason, "three clients");
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
  EXPECT_THAT(csv,
              HasSubstr(",0,2,,0,0,0\n2,\"say \"\"hi\"\"\",10,"));  // client 1 dropped twice, and has no test samples
  EXPECT_THAT(csv, HasSubstr(",2,0,0.1,10,0,0\n3,\"two\nlines\",0,,0,0,"));  // client 3 is in no group
}

TEST(Results, AreThoseOfTheRunNotOfItsRecipe) {
  // Clients 0 to 2 in one group, 3 in another, each with a model of its own; 4 has no samples.
  Recipe recipe = averaging(9);
  recipe.name = "uneven";
  recipe.seed = 5;
  recipe.profile = {.kind = "update-direction"};
  recipe.grouping.method = "decomposed-cosine";
  recipe.grouping.groups = 2;
  recipe.aggregation.global = "none";
  recipe.target_accuracy = 0.5;
  FakeFederation federation(std::vector<FakeClient>{{10}, {10}, {10}, {10}, {0}}, recipe.profile);
  federation.tell = [](const ProfileRequest&, ClientId client) {
    std::vector<float> vector(6, 0);
    vector[client.value < 3 ? 0 : 1] = 1;
    return ProfileReply{ClientProfile{.vector = vector, .samples_trained = 7}};
  };
  federation.score = [&](ClientId, float) {
    return EvaluateReply{Evaluation{.samples = 10, .correct = 3 * federation.trainings.size(), .loss_sum = 1}};
  };
  FakeRun run(recipe, federation);
  const StopReason reason = run.go();
  RunSummary summary = summarise(recipe, *run.loop, federation, nullptr, *run.folder, reason, "five clients");
  ASSERT_TRUE(write_results(summary, *run.loop, federation, "{}", *run.folder).ok());
  EXPECT_EQ(summary.stopped, StopReason::kTarget);
  EXPECT_EQ(summary.rounds, 2u);
  EXPECT_EQ(summary.target_round, 2u);
  EXPECT_EQ(summary.target_accuracy, 0.5);
  EXPECT_EQ(summary.recipe, "uneven");
  EXPECT_EQ(summary.seed, 5u);
  EXPECT_EQ(summary.run, run.folder->id());
  EXPECT_EQ(summary.data, "five clients");
  EXPECT_EQ(summary.parameters, 6u);
  EXPECT_EQ(summary.groups, 2u);
  EXPECT_EQ(summary.idle, 1u);
  EXPECT_EQ(summary.group_size_min, 1);
  EXPECT_EQ(summary.group_size_mean, 2);
  EXPECT_EQ(summary.group_size_max, 3);
  EXPECT_GT(summary.wall_s, 0);
  const auto saved = [&](const std::string& file) {
    auto read = read_safetensors(run.folder->path() / file, federation.network());
    EXPECT_TRUE(read.ok());
    return read.ok() ? *read : std::vector<float>();
  };
  const Models& models = run.loop->models();
  const std::vector<float> first = saved("model-0.safetensors");
  const std::vector<float> second = saved("model-1.safetensors");
  EXPECT_NE(first, second);
  EXPECT_TRUE(std::ranges::equal(first, models.of({0})));
  EXPECT_TRUE(std::ranges::equal(second, models.of({1})));
  EXPECT_TRUE(std::ranges::equal(saved("model.safetensors"), models.shared()));
}

}  // namespace
}  // namespace muster
