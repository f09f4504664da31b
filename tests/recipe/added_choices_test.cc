// Choices that a program adds while it runs are known to the keys at once, and what was handed out before stays.
#include <thread>

#include "grouping/grouping_method.h"
#include "recipe/choices.h"
#include "recipe/from_catalogues.h"
#include "recipe/keys.h"

namespace muster {
namespace {

using testing::HasSubstr;
using testing::Not;

Result<Draft> group_all(const GroupingOptions&, const GroupingInput& input, const GroupingCall&) {
  Draft draft;
  draft.groups.emplace_back();
  for (std::uint32_t k = 0; k < input.samples.size(); ++k) draft.groups[0].push_back(k);
  return draft;
}

TEST(AddedChoices, AreKnownToTheKeysAtOnce) {
  const Key* const before = find_key("grouping.method");
  const std::vector<Key>* const table = &recipe_key_table();
  EXPECT_EQ(find_key("grouping.method"), before);  // nothing is made anew
  EXPECT_EQ(&recipe_key_table(), table);
  Recipe recipe;
  EXPECT_FALSE(apply_setting(recipe, "grouping.method=all-in-one").ok());

  ASSERT_TRUE(add_grouping_method(
      {.entry = {.name = "all-in-one", .summary = "one group", .keys = {"size"}}, .group = group_all, .check = {}}));
  const Key* const after = find_key("grouping.method");
  EXPECT_THAT(after->info.accepted, HasSubstr("all-in-one"));
  EXPECT_THAT(before->info.accepted, Not(HasSubstr("all-in-one")));
  ASSERT_TRUE(apply_setting(recipe, "grouping.method=all-in-one").ok());
  EXPECT_TRUE(grouper_has_key(recipe, "size"));
  EXPECT_TRUE(forms_groups(recipe));
  EXPECT_FALSE(failing_condition(*find_key("grouping.size"), recipe));

  ASSERT_TRUE(add_profile_kind({.name = "own-kind", .summary = "nothing new"},
                               [](const ProfileOptions&) { return make_profile_kind({.kind = "none"}); }));
  EXPECT_THAT(find_key("profile.kind")->info.accepted, HasSubstr("own-kind"));
  ASSERT_TRUE(add_aggregation(
      {.name = "own-mean", .summary = "the mean"},
      [](const AggregationOptions&, const AggregatorSizes& sizes) { return std::move(*make_aggregator({}, sizes)); }));
  EXPECT_THAT(find_key("aggregation.global")->info.accepted, HasSubstr("own-mean"));
}

TEST(AddedChoices, WhatIsMadeOfThemIsMadeOncePerVersion) {
  static std::atomic<int> made{0};
  FromCatalogues<int> value([] { return ++made; });
  std::vector<std::jthread> readers;
  for (int i = 0; i < 4; ++i) {
    readers.emplace_back([&] {
      for (int j = 0; j < 100; ++j) EXPECT_EQ(value.get(), 1);
    });
  }
  readers.clear();
  const int& first = value.get();
  note_added_choice();
  EXPECT_EQ(value.get(), 2);
  EXPECT_EQ(first, 1);
  EXPECT_EQ(made, 2);
}

}  // namespace
}  // namespace muster
