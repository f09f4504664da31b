// What a round costs, from what its clients did and what was sent.
#include "fake_run.h"

namespace muster {
namespace {

TEST(RoundLoopCost, TheCostOfARoundIsThatOfItsSlowestGroupAndItsBytes) {
  FakeFederation federation(std::vector<FakeClient>{{10}, {30}});
  Recipe recipe = averaging(2);
  recipe.cost.device_gflops = 1e-6;
  recipe.cost.server_out_mbps = 1e-3;
  recipe.cost.server_in_mbps = 2e-3;
  FakeRun run(recipe, federation);
  run.go();
  const Lines rounds = run.lines("rounds.jsonl");
  // 6 operations for each of the multiply-adds of 30 samples, and one addition of 6 numbers; 48 bytes each way.
  const double macs = static_cast<double>(federation.network().forward_macs());
  EXPECT_NEAR(rounds[0]["compute_s"], (6 * macs * 30 + 6) / 1e3, 1e-9);
  EXPECT_NEAR(rounds[0]["comm_s"], 8 * 48 / 1e3 + 8 * 48 / 2e3, 1e-9);
  EXPECT_NEAR(rounds[1]["cost_total_s"].get<double>(), 2 * rounds[0]["cost_s"].get<double>(), 1e-9);
}

TEST(RoundLoopCost, ChainsAreChargedForTheClientsInGroups) {
  const TrainingOptions chains{.mode = "sequential", .passes = 3};
  Recipe recipe = groups_of_size(1, 2);
  recipe.training = chains;
  recipe.cost.model = "chain";
  recipe.cost.server_out_mbps = 1e-3;
  recipe.cost.server_in_mbps = 1e-3;
  FakeFederation federation(std::vector<FakeClient>{{10}, {10}, {10}, {10}, {0}, {0}}, {}, chains);
  FakeRun run(recipe, federation);
  run.go();
  // Four of six clients, three passes, 24 bytes each way (FedGSP, Eq. 17).
  EXPECT_NEAR(run.lines("rounds.jsonl")[0]["comm_s"], 8 * 4 * 3 * 24 * 2 / 1e3, 1e-9);
}

}  // namespace
}  // namespace muster
