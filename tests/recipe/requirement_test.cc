// What a client requires of a recipe.
#include "recipe/requirement.h"

#include <gmock/gmock.h>

namespace muster {
namespace {

std::string said(const Status& status) {
  return status ? "met" : status.error().message;
}

TEST(Requirement, IsMetByTheSameValueHoweverItIsWritten) {
  Recipe recipe;
  ASSERT_TRUE(apply_setting(recipe, "dp.clip=0.5").ok());
  for (const char* const wanted :
       {"dp.clip=0.5", "dp.clip=5e-1", "rounds=100", "local.objective=\"plain\"", "local.objective=plain"}) {
    ASSERT_TRUE(check_requirement(wanted).ok()) << wanted;
    Recipe as_wanted = recipe;
    ASSERT_TRUE(apply_setting(as_wanted, wanted).ok());
    EXPECT_EQ(meet_requirement(as_wanted, wanted).ok(), true) << wanted;
  }
  EXPECT_EQ(said(meet_requirement(recipe, "dp.clip=5e-1")), "met");
}

TEST(Requirement, OfAnotherValueSaysBoth) {
  Recipe recipe;
  ASSERT_TRUE(apply_setting(recipe, "aggregation.in-group=uniform").ok());
  EXPECT_EQ(said(meet_requirement(recipe, "aggregation.in-group=secure-sum")),
            "the cloud's recipe has aggregation.in-group = \"uniform\", and this client requires "
            "aggregation.in-group=secure-sum");
  EXPECT_EQ(said(meet_requirement(recipe, "dp.clip=1.0")),
            "the cloud's recipe has no dp.clip, and this client requires dp.clip=1.0");
}

TEST(Requirement, ThatNoRecipeCouldMeetIsSaidBeforeAnybodyIsDialled) {
  EXPECT_THAT(said(check_requirement("agregation.in-group=secure-sum")),
              testing::AllOf(testing::StartsWith("--require: "), testing::HasSubstr("agregation.in-group")));
  EXPECT_THAT(said(check_requirement("rounds=-1")), testing::StartsWith("--require: rounds: -1"));
  EXPECT_THAT(said(check_requirement("rounds")), testing::StartsWith("--require rounds: want section.key=value"));
}

}  // namespace
}  // namespace muster
