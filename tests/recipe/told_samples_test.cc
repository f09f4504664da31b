// Hiding how many samples clients have: whatever would tell is refused, with the reason.
#include "recipe/told_samples.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "recipe/keys.h"

namespace muster {
namespace {

using Lines = std::vector<std::string>;
using testing::HasSubstr;

const Lines kHiding{"aggregation.in-group=secure-sum", "secure.samples=hidden", "grouping.method=random"};

Status check(const Lines& more) {
  Recipe recipe;
  const bool grouped = std::ranges::any_of(more, [](const std::string& line) { return line.starts_with("grouping."); });
  for (const Lines& lines : {kHiding, grouped ? Lines{} : Lines{"grouping.size=5"}, more}) {
    for (const std::string& line : lines) MUSTER_TRY(apply_setting(recipe, line));
  }
  return check_recipe(recipe);
}

TEST(ToldSamples, NothingTellsByItself) {
  EXPECT_TRUE(check({}));
  EXPECT_TRUE(check({"aggregation.global=uniform", "training.group-rounds=3", "evaluation.on=global"}));
  EXPECT_TRUE(check({"aggregation.global=stabilised", "plan.sample-groups=2"}));
  EXPECT_TRUE(check({"dp.clip=1.0", "dp.noise-multiplier=1.0", "aggregation.global=uniform"}));
  EXPECT_TRUE(check({"profile.kind=label-histogram", "profile.epsilon=1.0", "grouping.method=mediator"}));
  EXPECT_TRUE(check({"data.source=csv", "data.clients=6", "data.normalize=false", "secure.most-samples=100"}));
  EXPECT_TRUE(check({"data.source=csv", "data.clients=6", "data.text=note", "secure.most-samples=100"}));
}

TEST(ToldSamples, WhatTellsIsRefusedWithTheReason) {
  const struct {
    Lines settings;
    const char* key;
    const char* why;
  } all[] = {
      {{"profile.kind=label-histogram", "grouping.method=mediator"}, "profile.kind: ", "add up to it"},
      {{"profile.kind=label-histogram", "profile.epsilon=1.0", "grouping.method=mediator", "dp.clip=1.0",
        "dp.noise-multiplier=1.0", "aggregation.global=uniform"},
       "profile.epsilon: 1",
       "counted by its samples"},
      {{"profile.kind=losses", "grouping.method=argmin-loss", "grouping.groups=3", "aggregation.global=none"},
       "profile.kind: \"losses\"",
       "losses are told"},
      {{"newcomers.assign=argmin-loss", "newcomers.round=3", "newcomers.clients=2", "aggregation.global=none"},
       "newcomers.assign: \"argmin-loss\"",
       "losses are told"},
      {{"grouping.min-samples=100", "grouping.max-clients=9"}, "grouping.method: \"random\"", "filled by"},
      {{"aggregation.global=unbiased", "plan.sample-groups=2"},
       "aggregation.global: \"unbiased\"",
       "everybody's samples"},
      {{"evaluation.on=clients"}, "evaluation.on: \"clients\"", "test samples"},
      {{"evaluation.on=both"}, "evaluation.on: \"both\"", "test samples"},
      {{"local.personal=head"}, "evaluation.on: \"auto\"", "only clients can score"},
      {{"evaluation.fine-tune=1.0"}, "evaluation.on: \"auto\"", "only clients can score"},
      {{"data.validation-fraction=0.1"}, "data.validation-fraction: 0.1", "validate"},
      {{"data.source=csv", "data.clients=6", "secure.most-samples=100"},
       "data.normalize: true",
       "sums over their rows"},
      {{"data.source=npz", "data.clients=6", "data.normalize=true", "secure.most-samples=100"},
       "data.normalize: true",
       "sums over their rows"},
      {{"data.source=csv", "data.clients=6", "data.normalize=false", "data.missing=mean", "secure.most-samples=100"},
       "data.missing: \"mean\"",
       "counts"},
      {{"data.source=csv", "data.clients=6", "data.normalize=false"},
       "secure.most-samples: not set",
       "no client tells"},
  };
  for (const auto& one : all) {
    const Status refused = check(one.settings);
    ASSERT_FALSE(refused) << one.key;
    EXPECT_EQ(refused.error().code, ErrorCode::kUsage);
    EXPECT_THAT(refused.error().message, HasSubstr(one.key));
    EXPECT_THAT(refused.error().message, HasSubstr(one.why));
    EXPECT_THAT(refused.error().message, HasSubstr("secure.samples = \"hidden\""));
    EXPECT_THAT(refused.error().message, HasSubstr("; want "));
  }
}

}  // namespace
}  // namespace muster
