// Any process of a deployment may be killed at any moment: cloud, edge or client, again and again. Started again, the
// cloud with --resume, the run ends with the signature of its simulation, and with a ledger that its checker accepts. A
// seeded draw says who dies and when; MUSTER_KILLS says how many (default: 3). Where exactly they die is the subject of
// fail_point_cli_test.cc.
#include <gtest/gtest.h>

#include <chrono>

#include "base/random.h"
#include "killed_federation.h"
#include "stateful_recipe.h"

namespace muster {
namespace {

TEST_F(KilledFederation, EndsAsItsSimulation) {
  recipe_ = file("recipe.toml", kStatefulRecipe);

  const std::string wanted = signature_alone(recipe_);
  const char* const asked = std::getenv("MUSTER_KILLS");
  const int kills = asked ? std::atoi(asked) : 3;
  Stream stream({.seed = 13, .purpose = Purpose::kTest});
  int killed = 0;
  for (int run = 0; killed < kills; ++run) {
    clear();
    for (const std::string& name : names_) start(name);
    std::optional<int> ended;
    const auto begun = std::chrono::steady_clock::now();
    while (!ended && std::chrono::steady_clock::now() - begun < std::chrono::seconds(120)) {
      ended = processes_.at("cloud").wait(0.05 + 0.9 * stream.uniform());
      if (ended || killed >= kills) continue;
      const std::string& victim = names_[stream.below(static_cast<std::uint32_t>(names_.size()))];
      ::kill(processes_.at(victim).id(), SIGKILL);
      (void)processes_.at(victim).wait(10);
      ++killed;
      start(victim);
    }
    ASSERT_EQ(ended, 0) << log("cloud");
    EXPECT_EQ(signature_told(), wanted) << "run " << run << " after " << killed << " kills\n" << log("cloud");
    const Finished ledger = checked_ledger(true);
    EXPECT_EQ(ledger.status, 0) << ledger.out;
    for (const std::string& name : names_) {
      // Who was away when the run ended, and came back too late to be told, gives up later.
      if (name == "cloud") continue;
      EXPECT_EQ(processes_.at(name).wait(10).value_or(0), 0) << name << ": " << log(name);
    }
  }
  std::printf("%d processes killed\n", killed);
}

}  // namespace
}  // namespace muster
