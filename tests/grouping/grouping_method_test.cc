// A method that a program adds: seen by everything that sees the built-in ones, and checked like any input.
#include "grouping/grouping_method.h"

#include <algorithm>
#include <thread>

#include "grouping/vectors.h"

namespace muster {
namespace {

// Neighbours in groups of `size`; the rest is idle.
Result<Draft> group_neighbours(const GroupingOptions& options, const GroupingInput& input, const GroupingCall& call) {
  Draft draft;
  const std::uint32_t size = options.size.value_or(2);
  for (std::uint32_t k = 0; k + size <= input.samples.size(); k += size) {
    draft.groups.emplace_back();
    for (std::uint32_t i = 0; i < size; ++i) draft.groups.back().push_back(k + i);
  }
  std::ranges::reverse(draft.groups);
  draft.notes.push_back(fmt::format("{} groups wanted", call.groups.value_or(0)));
  return draft;
}

std::string message_of(const Status& status) {
  return status ? "" : status.error().message;
}

TEST(AddedMethod, IsListedCheckedAndUsedLikeABuiltInOne) {
  const Status added = add_grouping_method(
      {.entry = {.name = "neighbours", .summary = "whoever is next", .keys = {"size"}, .needs_groups = true},
       .group = group_neighbours,
       .check = [](const GroupingOptions& options, const KnownAhead&) -> Status {
         if (options.size == 3u) return usage_error("grouping.size: 3, want an even number");
         return {};
       }});
  ASSERT_TRUE(added) << added.error().message;
  const std::vector<GrouperEntry> entries = groupers();
  EXPECT_EQ(entries.back().name, "neighbours");
  EXPECT_EQ(entries.front().name, "singletons");

  EXPECT_EQ(message_of(check_grouping({.method = "neighbours"}, {.groups_in_call = true})), "");
  EXPECT_NE(message_of(check_grouping({.method = "neighbours"})), "");
  EXPECT_EQ(message_of(check_grouping({.method = "neighbours", .size = 3}, {.groups_in_call = true})),
            "grouping.size: 3, want an even number");
  EXPECT_EQ(message_of(check_grouping({.method = "neighbours", .min_size = 3})),
            "grouping.min-size: not a key of neighbours, whose keys are size");
  EXPECT_NE(message_of(check_grouping({.method = "neighbour"})).find("did you mean 'neighbours'"), std::string::npos);

  // Two edges, client 2 without samples: the method sees clients 0 1 3 5 as 0 1 2 3, and 4 6 as 0 1.
  const std::vector<std::uint32_t> samples{1, 1, 0, 1, 1, 1, 1};
  const std::vector<std::uint32_t> edges{0, 0, 0, 0, 1, 0, 1};
  const auto formed = form_groups({.method = "neighbours"}, {.samples = samples, .edges = edges}, {.groups = 3});
  ASSERT_TRUE(formed) << formed.error().message;
  EXPECT_EQ(group_lists(formed->grouping), (Lists{{0, 1}, {3, 5}, {4, 6}}));
  EXPECT_EQ(formed->notes, (std::vector<std::string>{"edge 0: 2 groups wanted", "edge 1: 1 groups wanted"}));
}

TEST(AddedMethod, NeedsANameOfItsOwnAFunctionAndKnownKeys) {
  EXPECT_EQ(message_of(add_grouping_method({.entry = {.name = "random"}, .group = group_neighbours})),
            "there is a grouping method 'random' already");
  EXPECT_EQ(message_of(add_grouping_method({.entry = {.name = ""}, .group = group_neighbours})),
            "a grouping method without a name cannot be added");
  EXPECT_EQ(message_of(add_grouping_method({.entry = {.name = "empty"}})),
            "grouping method 'empty' has no function that groups");
  EXPECT_EQ(
      message_of(add_grouping_method({.entry = {.name = "odd", .keys = {"size", "colour"}}, .group = group_neighbours}))
          .find("grouping method 'odd': no such key 'colour', want some of size, groups, "),
      0u);
  for (const char* const refused : {"", "empty", "odd"}) {
    EXPECT_FALSE(std::ranges::any_of(groupers(), [&](const GrouperEntry& entry) { return entry.name == refused; }));
  }
  EXPECT_EQ(message_of(add_grouping_method({.entry = {.name = "twice"}, .group = group_neighbours})), "");
  EXPECT_EQ(message_of(add_grouping_method({.entry = {.name = "twice"}, .group = group_neighbours})),
            "there is a grouping method 'twice' already");
}

TEST(AddedMethod, ThatAnswersNonsenseIsAnErrorAndNoAbort) {
  static Lists answer;
  ASSERT_TRUE(add_grouping_method({.entry = {.name = "nonsense"},
                                   .group = [](const GroupingOptions&, const GroupingInput&, const GroupingCall&)
                                       -> Result<Draft> { return Draft{.groups = answer, .notes = {}}; }}));
  const std::vector<std::uint32_t> samples(3, 1);
  const auto complaint_about = [&](Lists groups) {
    answer = std::move(groups);
    const auto formed = form_groups({.method = "nonsense"}, {.samples = samples}, {});
    return formed ? "" : formed.error().message;
  };
  EXPECT_EQ(complaint_about({{0, 2}, {1}}), "");
  EXPECT_EQ(complaint_about({{0, 1}, {1}}), "grouping method nonsense put client 1 in two groups");
  EXPECT_EQ(complaint_about({{0, 3}}), "grouping method nonsense put client 3 in a group, want 0 to 2");
  EXPECT_EQ(complaint_about({{0}, {}}), "grouping method nonsense formed a group without clients");
  EXPECT_EQ(complaint_about({}), "nonsense formed no group");
}

TEST(AddedMethod, MayBeAddedWhileOthersAreUsed) {
  std::jthread adds([] {
    for (int i = 0; i < 50; ++i) {
      EXPECT_TRUE(add_grouping_method({.entry = {.name = fmt::format("own-{}", i)}, .group = group_neighbours}));
    }
  });
  const std::vector<std::uint32_t> samples(6, 1);
  for (int i = 0; i < 50; ++i) {
    EXPECT_TRUE(form_groups({.method = "random", .size = 2}, {.samples = samples}, {}));
    EXPECT_GE(groupers().size(), 17u);
  }
}

}  // namespace
}  // namespace muster
