#include "solver/objective.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

TEST(Objective, ProximalTermPullsTowardsTheReceivedModel) {
  const std::vector<float> received{1, -2};
  ObjectiveTerm term;
  make_prox(0.5)->begin({.received = received}, term);
  EXPECT_EQ(term.pull, 0.5f);
  ASSERT_TRUE(term.has_drift);
  EXPECT_EQ(term.drift, (std::vector<float>{0.5f, -1.0f}));
}

TEST(Objective, PlainAddsNothing) {
  ObjectiveTerm term;
  make_plain()->begin({}, term);
  EXPECT_EQ(term.pull, 0.0f);
  EXPECT_FALSE(term.has_drift);
}

TEST(Objectives, AreAllMadeByName) {
  std::vector<std::string> names;
  for (const CatalogueEntry& entry : objectives()) {
    EXPECT_TRUE(make_objective({.name = entry.name}).ok()) << entry.name;
    EXPECT_FALSE(entry.summary.empty()) << entry.name;
    names.push_back(entry.name);
  }
  EXPECT_EQ(names, (std::vector<std::string>{"plain", "prox", "control-variate", "dynamic", "mmd", "fusion"}));
  EXPECT_TRUE((*make_objective({.name = "control-variate", .control = "gradient"}))->wants_full_gradient());
  EXPECT_FALSE((*make_objective({.name = "control-variate", .control = "steps"}))->wants_full_gradient());
  const auto unknown = make_objective({.name = "proxy"});
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(
      unknown.error().message,
      "local.objective: unknown objective 'proxy' (did you mean 'prox'?); accepted: plain, prox, control-variate, "
      "dynamic, mmd, fusion");
}

}  // namespace
}  // namespace muster
