// What form_groups() promises for every method: checked over the catalogue, and its own errors.
#include "grouping/grouping.h"

#include <algorithm>

#include "base/random.h"
#include "dirichlet_clients.h"

namespace muster {
namespace {

using Lists = std::vector<std::vector<std::uint32_t>>;

Lists lists_of(const Grouping& grouping) {
  Lists lists;
  for (std::uint32_t g = 0; g < grouping.count(); ++g) {
    lists.emplace_back();
    for (const ClientId client : grouping.members({g})) lists.back().push_back(client.value);
  }
  return lists;
}

// Sixty clients of ten skewed classes with two of them empty, and vectors in three bundles.
struct Federation {
  Rows<std::uint32_t> labels{60, 10};
  Rows<float> vectors{60, 8};
  std::vector<std::uint32_t> samples = std::vector<std::uint32_t>(60);
  std::vector<std::uint32_t> edges = std::vector<std::uint32_t>(60);

  Federation() {
    Stream stream({.seed = 5});
    for (std::uint32_t k = 0; k < 60; ++k) {
      edges[k] = k % 3;
      for (std::uint32_t c = 0; c < 10; ++c) {
        const bool favoured = c == k % 10 || c == (k + 3) % 10;
        labels.row(k)[c] = k == 7 || k == 31 ? 0 : stream.below(favoured ? 80 : 4);
        samples[k] += labels.row(k)[c];
      }
      for (std::uint32_t j = 0; j < 8; ++j) {
        vectors.row(k)[j] = static_cast<float>((j == k % 3 ? 3 : 0) + 0.3 * stream.normal());
      }
    }
  }
  [[nodiscard]] GroupingInput input() const { return {.samples = samples, .labels = labels, .vectors = vectors}; }
};

GroupingOptions options_for(const GrouperEntry& entry) {
  GroupingOptions options{.method = entry.name};
  const auto has = [&](const char* key) { return std::ranges::find(entry.keys, key) != entry.keys.end(); };
  if (has("groups") && entry.name != "argmin-loss") options.groups = 6;
  if (has("size")) options.size = 5;
  if (has("min-samples") && !options.size) options.min_samples = 300;
  if (has("max-clients") && !options.size) options.max_clients = 10;
  if (has("score")) options.score = "cosine";  // the vectors are not probabilities
  return options;
}

class EveryGrouper : public testing::TestWithParam<GrouperEntry> {};

TEST_P(EveryGrouper, PlacesEveryClientOnceOrListsItAsIdle) {
  const Federation federation;
  const auto formed = form_groups(options_for(GetParam()), federation.input(), {.seed = 3});
  ASSERT_TRUE(formed) << formed.error().message;
  std::vector<int> seen(60);
  std::uint32_t last_first = 0;
  for (std::uint32_t g = 0; g < formed->grouping.count(); ++g) {
    const auto members = formed->grouping.members({g});
    ASSERT_FALSE(members.empty());
    EXPECT_TRUE(std::ranges::is_sorted(members));
    EXPECT_TRUE(g == 0 || members[0].value > last_first);
    last_first = members[0].value;
    for (const ClientId client : members) ++seen[client.value];
  }
  for (const ClientId client : formed->grouping.idle()) ++seen[client.value];
  EXPECT_EQ(std::ranges::count(seen, 1), 60);
  EXPECT_TRUE(std::ranges::is_sorted(formed->grouping.idle()));
  for (const std::uint32_t empty : {7u, 31u}) {
    EXPECT_TRUE(std::ranges::binary_search(formed->grouping.idle(), ClientId{empty})) << empty;
  }
}

TEST_P(EveryGrouper, RepeatsItselfAndNeverCrossesEdges) {
  const Federation federation;
  GroupingInput input = federation.input();
  input.edges = federation.edges;
  const GroupingOptions options = options_for(GetParam());
  const auto one = form_groups(options, input, {.seed = 3, .round = 2});
  const auto two = form_groups(options, input, {.seed = 3, .round = 2});
  ASSERT_TRUE(one) << one.error().message;
  ASSERT_TRUE(two);
  EXPECT_EQ(lists_of(one->grouping), lists_of(two->grouping));
  for (const auto& group : lists_of(one->grouping)) {
    for (const std::uint32_t client : group) EXPECT_EQ(client % 3, group[0] % 3);
  }
}

TEST_P(EveryGrouper, AnswersForOneClientAndForAllAlike) {
  const GroupingOptions wanted = [&] {
    GroupingOptions options = options_for(GetParam());
    if (options.groups) options.groups = 1;
    return options;
  }();
  for (const std::uint32_t clients : {1u, 2u, 12u}) {
    Rows<std::uint32_t> labels(clients, 3);
    Rows<float> vectors(clients, 4);
    std::ranges::fill(labels.values, 5u);
    std::ranges::fill(vectors.values, 0.25f);
    const std::vector<std::uint32_t> samples(clients, 15);
    const auto formed = form_groups(wanted, {.samples = samples, .labels = labels, .vectors = vectors}, {});
    if (!formed) {
      EXPECT_EQ(formed.error().code, ErrorCode::kUsage) << formed.error().message;
      EXPECT_NE(formed.error().message.find("grouping."), std::string::npos) << formed.error().message;
    } else {
      EXPECT_GE(formed->grouping.count(), 1u);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Catalogue, EveryGrouper, testing::ValuesIn(groupers()), [](const auto& entry) {
  std::string name = entry.param.name;
  std::ranges::replace(name, '-', '_');
  return name;
});

TEST(Grouping, GroupsOfOneAndOfMoreStandInTheirOrder) {
  const std::vector<ClientId> clients{{4}, {7}, {9}, {2}, {5}};
  const auto some = [&](std::size_t from, std::size_t count) { return std::span(clients).subspan(from, count); };
  Grouping grouping;
  EXPECT_EQ(grouping.count(), 0u);
  grouping.add(some(0, 1));
  grouping.add(some(1, 1));
  EXPECT_EQ(lists_of(grouping), (Lists{{4}, {7}}));
  EXPECT_TRUE(grouping.all_alone());
  grouping.add(some(2, 2));
  EXPECT_FALSE(grouping.all_alone());
  EXPECT_EQ(lists_of(grouping), (Lists{{4}, {7}, {9, 2}}));
  grouping.add({});
  grouping.add(some(4, 1));
  EXPECT_EQ(lists_of(grouping), (Lists{{4}, {7}, {9, 2}, {}, {5}}));
  EXPECT_EQ(grouping.clients(), 5u);
  Grouping empty_first;
  empty_first.add({});
  empty_first.add(some(0, 1));
  EXPECT_EQ(lists_of(empty_first), (Lists{{}, {4}}));
}

TEST(FormGroups, RefusesWhatTheMethodDoesNotKnow) {
  const Federation federation;
  const auto unknown = form_groups({.method = "randon"}, federation.input(), {});
  ASSERT_FALSE(unknown);
  EXPECT_NE(unknown.error().message.find("did you mean 'random'"), std::string::npos) << unknown.error().message;
  const auto foreign = form_groups({.method = "random", .lambda = 1.0}, federation.input(), {});
  ASSERT_FALSE(foreign);
  EXPECT_EQ(foreign.error().message,
            "grouping.lambda: not a key of random, whose keys are size, min-samples, max-clients");
  const auto none = form_groups({.method = "singletons", .size = 2}, federation.input(), {});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().message, "grouping.size: not a key of singletons, which has none");
}

TEST(FormGroups, SaysWhatIsImpossible) {
  const Federation federation;
  const auto large = form_groups({.method = "random", .size = 59}, federation.input(), {});
  ASSERT_FALSE(large);
  EXPECT_EQ(large.error().message, "grouping.size: 59, but only 58 clients have samples");
  const auto zero = form_groups({.method = "random", .size = 0}, federation.input(), {});
  ASSERT_FALSE(zero);
  EXPECT_EQ(zero.error().message, "grouping.size: 0, want >= 1");
  const std::vector<std::uint32_t> nobody(4);
  EXPECT_FALSE(form_groups({.method = "random", .size = 2}, {.samples = nobody}, {}));
  EXPECT_FALSE(form_groups({.method = "singletons"}, {.samples = nobody}, {}));
  EXPECT_FALSE(form_groups({.method = "random", .size = 2}, {.samples = nobody, .edges = federation.edges}, {}));
}

TEST(FormGroups, AnEdgeThatIsTooSmallStaysIdleWithANote) {
  const std::vector<std::uint32_t> samples{1, 1, 1, 1, 1, 1};
  const std::vector<std::uint32_t> edges{0, 0, 0, 0, 1, 1};
  const auto formed = form_groups({.method = "random", .size = 4}, {.samples = samples, .edges = edges}, {});
  ASSERT_TRUE(formed) << formed.error().message;
  EXPECT_EQ(lists_of(formed->grouping), (Lists{{0, 1, 2, 3}}));
  ASSERT_EQ(formed->notes.size(), 1u);
  EXPECT_EQ(formed->notes[0], "edge 1: grouping.size: 4, but only 2 clients have samples");
}

TEST(FormGroups, TakesAnyNumbersForEdges) {
  const std::vector<std::uint32_t> samples{1, 1, 1, 1};
  const std::vector<std::uint32_t> edges{0xffffffffu, 7, 0xffffffffu, 7};
  const auto formed = form_groups({.method = "random", .size = 2}, {.samples = samples, .edges = edges}, {});
  ASSERT_TRUE(formed) << formed.error().message;
  EXPECT_EQ(lists_of(formed->grouping), (Lists{{0, 2}, {1, 3}}));
}

TEST(FormGroups, SharesTheWantedGroupsOutByClientsAndOneAtLeast) {
  // Groups of vectors that all differ: as many on each edge as it is given.
  const auto per_edge = [](std::vector<std::uint32_t> sizes, std::uint32_t groups) {
    std::vector<std::uint32_t> edges;
    for (std::uint32_t e = 0; e < sizes.size(); ++e) edges.insert(edges.end(), sizes[e], e);
    const std::vector<std::uint32_t> samples(edges.size(), 1);
    Rows<float> vectors(static_cast<std::uint32_t>(edges.size()), 1);
    for (std::size_t k = 0; k < edges.size(); ++k) vectors.values[k] = static_cast<float>(k * k);
    const auto formed = form_groups({.method = "nearest-centre", .groups = groups},
                                    {.samples = samples, .vectors = vectors, .edges = edges}, {});
    EXPECT_TRUE(formed) << formed.error().message;
    std::vector<std::uint32_t> counts(sizes.size());
    for (const auto& group : formed ? lists_of(formed->grouping) : Lists()) ++counts[edges[group[0]]];
    return counts;
  };
  using Counts = std::vector<std::uint32_t>;
  EXPECT_EQ(per_edge({5, 3, 2}, 4), (Counts{2, 1, 1}));  // 2, 1.2 and 0.8: the last has the largest remainder
  EXPECT_EQ(per_edge({6, 3, 3}, 6), (Counts{3, 2, 1}));  // 3, 1.5 and 1.5: the lower edge
  EXPECT_EQ(per_edge({9, 1}, 2), (Counts{2, 1}));        // one each, though that is more than wanted
}

TEST(FormGroups, TakesTheNumberOfTheCallBeforeThatOfTheOptions) {
  const Federation federation;
  const auto formed = form_groups({.method = "agglomerative", .groups = 3}, federation.input(), {.groups = 5});
  ASSERT_TRUE(formed) << formed.error().message;
  EXPECT_EQ(formed->grouping.count(), 5u);
}

TEST(FormGroups, EdgesDrawIndependently) {
  // Twenty clients each on two edges: groups of the same positions on both would be drawn from the same stream.
  const std::vector<std::uint32_t> samples(40, 1);
  std::vector<std::uint32_t> edges(40);
  for (std::uint32_t k = 20; k < 40; ++k) edges[k] = 1;
  const auto formed = form_groups({.method = "random", .size = 4}, {.samples = samples, .edges = edges}, {});
  ASSERT_TRUE(formed);
  Lists first, second;
  for (auto group : lists_of(formed->grouping)) {
    const bool other = group[0] >= 20;
    for (std::uint32_t& client : group) client %= 20;
    (other ? second : first).push_back(group);
  }
  EXPECT_NE(first, second);
}

TEST(FormGroups, NamesTheEdgeOfANoteAndOfAnError) {
  // On edge 4 the last client fits nowhere.
  const std::vector<std::uint32_t> samples{10, 10, 1, 1, 1};
  const std::vector<std::uint32_t> edges{3, 3, 4, 4, 4};
  const Rows<float> vectors(5, 1);
  const GroupingInput input{.samples = samples, .vectors = vectors, .edges = edges};
  const auto formed =
      form_groups({.method = "greedy-complement", .score = "cosine", .min_samples = 10, .max_clients = 2}, input, {});
  ASSERT_TRUE(formed) << formed.error().message;
  ASSERT_EQ(formed->notes.size(), 1u);
  EXPECT_TRUE(formed->notes[0].starts_with("edge 4: left over: 1 clients with 1 samples")) << formed->notes[0];
  const auto refused = form_groups({.method = "random", .min_samples = 0}, input, {});
  ASSERT_FALSE(refused);
  EXPECT_TRUE(refused.error().message.starts_with("edge 3: grouping.min-samples: 0")) << refused.error().message;
}

std::string refusal(const GroupingOptions& options, const KnownAhead& ahead = {}) {
  const Status status = check_grouping(options, ahead);
  return status ? "" : status.error().message;
}

TEST(FormGroups, HasTheDocumentedDefaults) {
  const std::vector<std::pair<GroupingOptions, GroupingOptions>> pairs{
      {{.method = "inter-cluster", .groups = 9},
       {.method = "inter-cluster", .groups = 9, .max_iterations = 10, .rows = "all"}},
      {{.method = "greedy-complement"},
       {.method = "greedy-complement", .score = "kl", .min_samples = 800, .max_clients = 11, .first = "random"}},
      {{.method = "kmeans-deal"}, {.method = "kmeans-deal", .min_samples = 800, .max_clients = 11, .clusters = 10}},
      {{.method = "coefficient-of-variation"},
       {.method = "coefficient-of-variation", .min_size = 5, .max_cov = 0.5, .tail = "discard"}},
      {{.method = "kl-greedy"}, {.method = "kl-greedy", .min_size = 5}},
      {{.method = "cluster-deal"}, {.method = "cluster-deal", .min_size = 5}},
      {{.method = "qcid"}, {.method = "qcid", .min_size = 5, .lambda = 1.0}},
      {{.method = "mediator"}, {.method = "mediator", .size = 5}}};
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const LabelledClients clients = dirichlet_clients(120, 10, 0.1, 20, 200, seed);
    for (const auto& [unset, set] : pairs) {
      const auto one = form_groups(unset, clients.input(), {.seed = seed, .round = 40});
      const auto two = form_groups(set, clients.input(), {.seed = seed, .round = 40});
      ASSERT_TRUE(one) << one.error().message;
      ASSERT_TRUE(two) << two.error().message;
      EXPECT_EQ(lists_of(one->grouping), lists_of(two->grouping)) << unset.method;
    }
  }
}

TEST(CheckGrouping, WantsANumberOfGroupsWhereTheMethodNeedsOne) {
  for (const char* const method : {"inter-cluster", "decomposed-cosine", "mean-absolute-cosine", "nearest-centre"}) {
    EXPECT_EQ(refusal({.method = method}),
              "grouping.groups: not set, but " + std::string(method) + " has to be told how many groups to form");
    EXPECT_EQ(refusal({.method = method, .groups = 3}), "");
    EXPECT_EQ(refusal({.method = method}, {.groups_in_call = true}), "");
  }
  EXPECT_EQ(refusal({.method = "nearest-centre"}, {.centres = true}), "");
  EXPECT_NE(refusal({.method = "inter-cluster"}, {.centres = true}), "");
  for (const char* const method : {"singletons", "gap-voting", "argmin-loss", "mediator", "bipartition"}) {
    EXPECT_EQ(refusal({.method = method}), "") << method;
  }
}

TEST(CheckGrouping, RefusesAtOnceWhatNoClientsCouldMend) {
  EXPECT_EQ(refusal({.method = "agglomerative", .groups = 2, .metric = "cosine"}),
            "grouping.linkage: ward by default, but ward's linkage is defined for metric = l2 only; want single | "
            "complete | average with metric = cosine");
  EXPECT_EQ(refusal({.method = "agglomerative", .groups = 2, .metric = "cosine", .linkage = "average"}), "");
  EXPECT_NE(refusal({.method = "agglomerative"}), "");
  EXPECT_EQ(refusal({.method = "agglomerative"}, {.groups_in_call = true}), "");
  EXPECT_NE(refusal({.method = "agglomerative", .threshold = 1.0}, {.groups_in_call = true}), "");
  EXPECT_EQ(refusal({.method = "bipartition", .linkage = "average"}),
            "grouping.linkage: \"average\", want single | complete");
  EXPECT_EQ(refusal({.method = "kmeans-deal"}), "");
  EXPECT_EQ(refusal({.method = "kmeans-deal"}, {.vectors_only = true}),
            "grouping.clusters: not set, want a number: vectors alone do not tell how many classes there are");
  EXPECT_EQ(refusal({.method = "kmeans-deal", .clusters = 4}, {.vectors_only = true}), "");
}

TEST(Random, DrawsAnewEveryRound) {
  const std::vector<std::uint32_t> samples(30, 1);
  const auto one = form_groups({.method = "random", .size = 3}, {.samples = samples}, {.round = 1});
  const auto two = form_groups({.method = "random", .size = 3}, {.samples = samples}, {.round = 2});
  EXPECT_EQ(one->grouping.count(), 10u);
  EXPECT_NE(lists_of(one->grouping), lists_of(two->grouping));
}

TEST(Random, FillsGroupsToAQuotaOfSamples) {
  // FedSeq's numbers: 500 clients of 100 samples, 800 and 11 by default: 62 groups of 8, four of them with one more.
  const std::vector<std::uint32_t> samples(500, 100);
  const GroupingOptions options{.method = "random", .min_samples = 800};
  const auto formed = form_groups(options, {.samples = samples}, {.seed = 2});
  ASSERT_TRUE(formed) << formed.error().message;
  EXPECT_EQ(formed->grouping.count(), 62u);
  EXPECT_TRUE(formed->grouping.idle().empty());
  int nines = 0;
  for (const auto& group : lists_of(formed->grouping)) {
    EXPECT_TRUE(group.size() == 8 || group.size() == 9) << group.size();
    nines += group.size() == 9 ? 1 : 0;
  }
  EXPECT_EQ(nines, 4);
  const auto again = form_groups({.method = "random", .max_clients = 11}, {.samples = samples}, {.seed = 2});
  ASSERT_TRUE(again);
  EXPECT_EQ(lists_of(again->grouping), lists_of(formed->grouping));
  const auto other = form_groups(options, {.samples = samples}, {.seed = 3});
  ASSERT_TRUE(other);
  EXPECT_NE(lists_of(other->grouping), lists_of(formed->grouping));

  const auto few = form_groups({.method = "random", .max_clients = 3}, {.samples = std::span(samples).first(9)}, {});
  ASSERT_TRUE(few);
  for (const auto& group : lists_of(few->grouping)) EXPECT_EQ(group.size(), 3u);
}

TEST(Random, TakesASizeOrAQuotaAndNotBoth) {
  EXPECT_EQ(refusal({.method = "random"}),
            "grouping.size: not set, want clients per group; or set min-samples and max-clients instead");
  EXPECT_EQ(refusal({.method = "random", .size = 4, .min_samples = 300}),
            "grouping.size: 4, but grouping.min-samples is set too; want size, or min-samples and max-clients");
  EXPECT_EQ(refusal({.method = "random", .size = 4, .max_clients = 9}),
            "grouping.size: 4, but grouping.max-clients is set too; want size, or min-samples and max-clients");
  EXPECT_EQ(refusal({.method = "random", .size = 4}), "");
  EXPECT_EQ(refusal({.method = "random", .max_clients = 4}), "");
  EXPECT_EQ(refusal({.method = "random", .min_samples = 4}), "");
}

}  // namespace
}  // namespace muster
