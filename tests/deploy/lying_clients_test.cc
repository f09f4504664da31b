// Clients and edges that send what cannot be true: who does is dropped, alone, and the round goes on with the others.
#include <gtest/gtest.h>

#include <atomic>

#include "base/hash.h"
#include "deploy/deployment_in_memory.h"
#include "engine/run_records.h"

namespace muster {
namespace {

class LyingClients : public SimulationTest {
 protected:
  // Groups of three train with control variates, until `stop` rounds are done (0: to the end); resumes, if a run is
  // given.
  RunSummary deploy(DeploymentShape shape, std::uint32_t stop = 0, const std::string& run = "") {
    DeploymentInMemory deployment(std::move(shape));
    std::atomic<bool> interrupt{false};
    SimulationOptions wanted = options(1);
    wanted.interrupt = &interrupt;
    wanted.on_round = [&](std::uint32_t round) { interrupt = stop > 0 && round + 1 >= stop; };
    wanted.federation = deployment.maker();
    const Recipe recipe = small({"rounds=2", "local.objective=control-variate", "aggregation.global=control-variate",
                                 "profile.kind=label-histogram", "grouping.method=mediator", "grouping.size=3",
                                 "plan.sample-clients=12"});
    const auto summary = run.empty() ? simulate(recipe, wanted) : resume(run, {}, wanted);
    EXPECT_TRUE(summary.ok()) << summary.error().message;
    return summary.ok() ? *summary : RunSummary{};
  }
  std::vector<nlohmann::json> rounds(MemoryLine::Tap tap) {
    return lines(deploy({.tap = std::move(tap)}).dir / "rounds.jsonl");
  }
};

TEST_F(LyingClients, OneThatHasMoreSamplesThanItSaidIsDroppedAlone) {
  const auto told = rounds([](v1::Frame& frame, bool up) {
    if (up && frame.has_reply() && frame.reply().has_trained() && frame.reply().id().client() == 4) {
      frame.mutable_reply()->mutable_trained()->set_samples(4'000'000'000);
    }
    return true;
  });
  ASSERT_EQ(told.size(), 2u);
  for (const nlohmann::json& round : told) {
    EXPECT_EQ(round["participants"], 11) << round;
    EXPECT_EQ(round["dropped"], nlohmann::json::parse(R"([{"client":4,"reason":"malformed"}])")) << round;
  }
}

// A process numbers its vectors: the even ones are what goes besides the model.
TEST_F(LyingClients, ThoseWhosePayloadsAreOfAnySizeAreDropped) {
  const auto told = rounds([](v1::Frame& frame, bool up) {
    if (!up || !frame.has_chunk() || frame.chunk().vector() % 2 == 1) return true;
    v1::Chunk& chunk = *frame.mutable_chunk();
    chunk.set_size(1 + chunk.vector() / 2 % 3);
    chunk.mutable_values()->resize(chunk.size() * sizeof(float));
    chunk.set_checksum(hash_bytes(chunk.values().data(), chunk.values().size()));
    return true;
  });
  ASSERT_EQ(told.size(), 2u);
  for (const nlohmann::json& round : told) {
    EXPECT_EQ(round["participants"], 0) << round;
    EXPECT_EQ(round["dropped"].size(), 12u) << round;
  }
}

// What an edge says of clients that it was not asked for is in no checkpoint.
TEST_F(LyingClients, AnEdgeThatTellsOfOthersSpoilsItsGroupsOnly) {
  const ScratchFolder states;
  const auto lie = [](v1::Frame& frame, bool up) {
    if (!up || !frame.has_reply() || !frame.reply().has_group()) return true;
    for (v1::MemberReport& member : *frame.mutable_reply()->mutable_group()->mutable_members()) {
      member.set_client(member.client() % 2 == 0 ? 999 : member.client());
      member.mutable_basis()->set_round(member.client() == 999 ? 1 : 0);
    }
    return true;
  };
  const RunSummary part = deploy({.edges = 1, .states = states.path(), .edge_tap = lie}, 1);
  EXPECT_EQ(part.rounds, 1u);
  const RunSummary whole = deploy({.edges = 1, .states = states.path()}, 0, part.dir.string());
  const auto told = lines(whole.dir / "rounds.jsonl");
  ASSERT_EQ(told.size(), 2u);
  EXPECT_LT(told[0]["participants"], 12) << told[0];
  EXPECT_EQ(told[1]["participants"], 12) << told[1];
}

}  // namespace
}  // namespace muster
