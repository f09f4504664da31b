// greedy-complement: worked numbers, a direct implementation, ties, and what it refuses.
#include "grouping/greedy_complement.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "dirichlet_clients.h"

namespace muster {
namespace {

using Lists = std::vector<std::vector<std::uint32_t>>;
using enum ComplementScore;

// Four confidence vectors over three classes.
const std::vector<std::vector<double>> kConfident{{.8, .1, .1}, {.7, .2, .1}, {.1, .8, .1}, {.1, .1, .8}};

TEST(Complement, WorkedScores) {
  const auto& c = kConfident;
  EXPECT_NEAR(complement(kKl, c[0], c[1]), 0.631976, 5e-7);
  EXPECT_NEAR(complement(kKl, c[0], c[2]), 0.850303, 5e-7);
  EXPECT_NEAR(complement(kKl, c[0], c[3]), 0.850303, 5e-7);
  const std::vector<double> mean{.45, .45, .1};
  EXPECT_NEAR(complement(kKl, mean, c[1]), 0.815120, 5e-7);
  EXPECT_NEAR(complement(kKl, mean, c[3]), 0.970757, 5e-7);
  EXPECT_NEAR(complement(kGini, c[0], c[1]), 0.405, 1e-12);
  EXPECT_NEAR(complement(kGini, c[0], c[2]), 0.585, 1e-12);
  EXPECT_NEAR(complement(kGini, c[0], c[3]), 0.585, 1e-12);
  EXPECT_NEAR(complement(kCosine, c[0], c[1]), 0.011713, 5e-7);
  EXPECT_NEAR(complement(kCosine, c[0], c[2]), 0.742424, 5e-7);
  EXPECT_NEAR(complement(kCosine, c[0], c[3]), 0.742424, 5e-7);
  const std::vector<double> uniform(3, 1.0 / 3);
  EXPECT_NEAR(complement(kKl, uniform, c[1]), 0.926410, 5e-7);
  EXPECT_NEAR(complement(kKl, uniform, c[0]), 0.885983, 5e-7);
}

TEST(Complement, ScoresOfPolarisedClientsAreNegative) {
  for (const auto& [classes, score] : std::vector<std::pair<std::size_t, double>>{{10, -0.609}, {100, -2.912}}) {
    std::vector<double> a(classes);
    std::vector<double> b(classes);
    a[0] = b[1] = 1;
    EXPECT_NEAR(complement(kKl, a, b), score, 5e-4);
    EXPECT_LT(complement(kKl, a, a), complement(kKl, a, b));
  }
}

TEST(Complement, WassersteinComparesTheComponentsInOrderOfSize) {
  const std::vector<double> a{0, 1, 5};
  EXPECT_NEAR(complement(kWasserstein, a, std::vector<double>{5, 0, 1}), 0, 1e-15);
  EXPECT_NEAR(complement(kWasserstein, a, std::vector<double>{8, 5, 6}), (5 + 5 + 3) / 3.0, 1e-12);
  EXPECT_NEAR(complement(kWasserstein, a, std::vector<double>{-1, 2, 2}), (1 + 1 + 3) / 3.0, 1e-12);
}

TEST(Complement, ZeroHasNoDirection) {
  EXPECT_EQ(complement(kCosine, std::vector<double>{0, 0}, std::vector<double>{1, 2}), 1);
  EXPECT_EQ(complement(kCosine, std::vector<double>{0, 0}, std::vector<double>{0, 0}), 1);
}

struct Clients {
  Rows<float> vectors;
  std::vector<std::uint32_t> samples;
  [[nodiscard]] GroupingInput input() const { return {.samples = samples, .vectors = vectors}; }
};

Clients clients_from(const std::vector<std::vector<double>>& rows, std::uint32_t samples) {
  Clients made{.vectors = Rows<float>(static_cast<std::uint32_t>(rows.size()), rows[0].size()),
               .samples = std::vector<std::uint32_t>(rows.size(), samples)};
  for (std::uint32_t k = 0; k < rows.size(); ++k) std::ranges::copy(rows[k], made.vectors.row(k).begin());
  return made;
}

Stream method_stream(std::uint64_t seed) {
  return Stream({.seed = seed, .purpose = Purpose::kGrouping, .round = 1});
}

// A seed with which the first draw of `count` clients is client 0.
std::uint64_t seed_that_draws_zero(std::uint32_t count) {
  std::uint64_t seed = 1;
  while (method_stream(seed).below(count) != 0) ++seed;
  return seed;
}

TEST(GreedyComplement, WorkedExample) {
  const Clients clients = clients_from(kConfident, 100);
  const std::uint64_t seed = seed_that_draws_zero(4);
  for (const char* score : {"kl", "gini", "cosine"}) {
    GroupingOptions options{.method = "greedy-complement", .score = score, .max_clients = 2};
    EXPECT_EQ(grouped(options, clients.input(), seed), (Lists{{0, 2}, {1, 3}})) << score;
  }
  // A third to 0 and 2, from their mean (.45, .45, .1), is client 3.
  const Clients more =
      clients_from({kConfident[0], kConfident[1], kConfident[2], kConfident[3], kConfident[1], kConfident[1]}, 100);
  const std::uint64_t six = seed_that_draws_zero(6);
  const GroupingOptions threes{.method = "greedy-complement", .min_samples = 300};
  EXPECT_EQ(grouped(threes, more.input(), six), (Lists{{0, 2, 3}, {1, 4, 5}}));
}

TEST(GreedyComplement, TheFirstMayBeWhoComplementsTheUniformMix) {
  // Client 1 scores 0.926410 and opens, the others score 0.885983. Had client 0 opened, client 2 were with it.
  const Clients clients = clients_from({kConfident[0], kConfident[1], kConfident[3], kConfident[0]}, 100);
  const GroupingOptions options{.method = "greedy-complement", .min_samples = 200, .first = "uniform"};
  EXPECT_EQ(grouped(options, clients.input()), (Lists{{0, 3}, {1, 2}}));
}

TEST(GreedyComplement, TakesTheBestAlsoWhereAllScoresAreNegative) {
  // Client 1 is of the same class as client 0 and comes before client 2.
  std::vector<std::vector<double>> rows(4, std::vector<double>(10));
  rows[0][0] = rows[1][0] = rows[2][1] = rows[3][1] = 1;
  const GroupingOptions options{.method = "greedy-complement", .max_clients = 2};
  EXPECT_EQ(grouped(options, clients_from(rows, 10).input(), seed_that_draws_zero(4)), (Lists{{0, 2}, {1, 3}}));
}

TEST(GreedyComplement, TheMeanIsWeightedBySamples) {
  // 0 takes 1, whose 898 samples outweigh its 100: 2 complements their mean best and completes the group. Against the
  // plain mean it would have been 3, and 2 would have been dealt to them.
  const LabelledClients clients = clients_of(3, {100, 0, 0, 0, 449, 449, 90, 10, 0, 200, 400, 400});
  EXPECT_EQ(grouped({.method = "greedy-complement", .min_samples = 1000}, clients.input(), seed_that_draws_zero(4)),
            (Lists{{0, 1, 2}, {3}}));
  const std::vector<double> plain{.5, .25, .25};
  EXPECT_GT(complement(kKl, plain, std::vector<double>{.2, .4, .4}),
            complement(kKl, plain, std::vector<double>{.9, .1, 0}));
}

// Everything recomputed from the definitions at every pick.
Lists direct(const Clients& clients, ComplementScore score, bool uniform, std::uint64_t min_samples,
             std::uint32_t max_clients, std::uint64_t seed) {
  const std::size_t width = clients.vectors.width;
  const auto row = [&](std::uint32_t k) {
    return std::vector<double>(clients.vectors.row(k).begin(), clients.vectors.row(k).end());
  };
  std::vector<std::uint32_t> waiting(clients.samples.size());
  std::iota(waiting.begin(), waiting.end(), 0u);
  Stream stream = method_stream(seed);
  Lists groups;
  std::vector<std::uint64_t> sizes;
  const auto complete = [&] { return sizes.back() >= min_samples || groups.back().size() >= max_clients; };
  while (!waiting.empty()) {
    if (groups.empty() || complete()) {
      groups.emplace_back();
      sizes.push_back(0);
    }
    std::vector<double> mean(width, 1.0 / static_cast<double>(width));
    if (!groups.back().empty()) {
      std::ranges::fill(mean, 0.0);
      for (const std::uint32_t member : groups.back()) {
        const double weight = clients.samples[member] / static_cast<double>(sizes.back());
        for (std::size_t i = 0; i < width; ++i) mean[i] += weight * row(member)[i];
      }
    }
    std::size_t best = 0;
    if (groups.back().empty() && !uniform) {
      best = stream.below(static_cast<std::uint32_t>(waiting.size()));
    } else {
      double most = -std::numeric_limits<double>::infinity();
      for (std::size_t i = 0; i < waiting.size(); ++i) {
        const double value = complement(score, mean, row(waiting[i]));
        if (value <= most + 1e-10) continue;
        most = value;
        best = i;
      }
    }
    groups.back().push_back(waiting[best]);
    sizes.back() += clients.samples[waiting[best]];
    waiting.erase(waiting.begin() + static_cast<std::ptrdiff_t>(best));
  }
  if (!complete()) {
    const std::vector<std::uint32_t> left = groups.back();
    groups.pop_back();
    sizes.pop_back();
    std::vector<std::size_t> turn(groups.size());
    std::iota(turn.begin(), turn.end(), std::size_t{0});
    std::ranges::stable_sort(turn, {}, [&](std::size_t g) { return sizes[g]; });
    std::size_t at = 0;
    for (const std::uint32_t client : left) {
      while (groups[turn[at % turn.size()]].size() >= max_clients) ++at;
      groups[turn[at++ % turn.size()]].push_back(client);
    }
  }
  for (auto& group : groups) std::ranges::sort(group);
  std::ranges::sort(groups);
  return groups;
}

TEST(GreedyComplement, IsTheDirectGreedy) {
  const std::vector<std::pair<const char*, ComplementScore>> scores{
      {"kl", kKl}, {"gini", kGini}, {"cosine", kCosine}, {"wasserstein", kWasserstein}};
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    Clients clients{.vectors = Rows<float>(47, 8), .samples = {}};
    Stream stream({.seed = seed});
    const std::vector<double> concentration(8, 0.3);
    std::vector<double> shares(8);
    for (std::uint32_t k = 0; k < 47; ++k) {
      stream.dirichlet(concentration, shares);
      std::ranges::copy(shares, clients.vectors.row(k).begin());
      clients.samples.push_back(50 + stream.below(150));
    }
    for (const auto& [word, score] : scores) {
      for (const bool uniform : {false, true}) {
        GroupingOptions options{.method = "greedy-complement", .score = word, .min_samples = 700, .max_clients = 9};
        if (uniform) options.first = "uniform";
        EXPECT_EQ(grouped(options, clients.input(), seed), direct(clients, score, uniform, 700, 9, seed))
            << word << " seed " << seed;
      }
    }
  }
}

TEST(GreedyComplement, FiveHundredEqualClientsMakeSixtyTwoGroups) {
  LabelledClients clients{.labels = Rows<std::uint32_t>(500, 10), .samples = std::vector<std::uint32_t>(500, 100)};
  for (std::uint32_t k = 0; k < 500; ++k) clients.labels.row(k)[k / 50] = 100;
  for (const char* first : {"random", "uniform"}) {
    const Lists groups = grouped({.method = "greedy-complement", .first = first}, clients.input());
    ASSERT_EQ(groups.size(), 62u);
    EXPECT_EQ(std::ranges::count(groups, 8u, &std::vector<std::uint32_t>::size), 58);
    EXPECT_EQ(std::ranges::count(groups, 9u, &std::vector<std::uint32_t>::size), 4);
    // Eight clients of one class each: all different as long as there are eight classes left.
    std::uint32_t mixed = 0;
    for (const auto& group : groups) {
      std::vector<bool> seen(10);
      for (const std::uint32_t client : group) seen[client / 50] = true;
      mixed += std::ranges::count(seen, true) >= 8;
    }
    EXPECT_GE(mixed, 50u);
  }
}

TEST(GreedyComplement, EveryGroupIsCompleteAndEveryClientPlaced) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    const LabelledClients clients = dirichlet_clients(120, 10, 0.2, 20, 300, seed);
    for (const char* method : {"greedy-complement", "kmeans-deal"}) {
      const auto formed = form_groups({.method = method}, clients.input(), {.seed = seed});
      ASSERT_TRUE(formed) << formed.error().message;
      std::size_t placed = 0;
      for (const auto& group : member_lists(formed->grouping)) {
        std::uint64_t samples = 0;
        for (const std::uint32_t client : group) samples += clients.samples[client];
        EXPECT_TRUE(samples >= 800 || group.size() == 11) << samples << " samples, " << group.size() << " clients";
        EXPECT_LE(group.size(), 11u);
        placed += group.size();
      }
      EXPECT_EQ(placed, 120u);
    }
  }
}

TEST(GreedyComplement, DoesNotDependOnTheOrderOfClientsWhenNothingIsDrawn) {
  const LabelledClients clients = dirichlet_clients(80, 10, 0.5, 101, 301, 6);
  std::vector<std::uint32_t> order(80);
  std::iota(order.begin(), order.end(), 0u);
  Stream stream({.seed = 3});
  for (const char* score : {"kl", "gini", "cosine", "wasserstein"}) {
    const GroupingOptions options{.method = "greedy-complement", .score = score, .first = "uniform"};
    const Lists groups = grouped(options, clients.input());
    for (int turn = 0; turn < 3; ++turn) {
      stream.shuffle(std::span(order));
      EXPECT_EQ(renamed(grouped(options, reordered(clients, order).input()), order), groups) << score;
    }
  }
}

TEST(GreedyComplement, EqualClientsAreTakenInOrder) {
  const Clients clients = clients_from(std::vector<std::vector<double>>(6, {.25, .5, .25}), 100);
  for (const char* score : {"kl", "gini", "cosine", "wasserstein"}) {
    const GroupingOptions options{
        .method = "greedy-complement", .score = score, .min_samples = 200, .first = "uniform"};
    EXPECT_EQ(grouped(options, clients.input()), (Lists{{0, 1}, {2, 3}, {4, 5}})) << score;
  }
}

TEST(GreedyComplement, EqualScoresAreTiesWhateverTheOrderOfTheirTerms) {
  // Everyone holds the same uneven shares, in other classes: the terms of a sum come in every order.
  const std::vector<std::pair<const char*, ComplementScore>> scores{
      {"kl", kKl}, {"gini", kGini}, {"cosine", kCosine}, {"wasserstein", kWasserstein}};
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    std::vector<std::vector<double>> rows(40, {95, 54, 33, 28, 18, 13, 8, 5, 2});
    Stream stream({.seed = seed});
    for (auto& row : rows) {
      stream.shuffle(std::span(row));
      for (double& share : row) share /= 256;  // exact also as float
    }
    const Clients clients = clients_from(rows, 100);
    for (const auto& [word, score] : scores) {
      const GroupingOptions options{
          .method = "greedy-complement", .score = word, .min_samples = 300, .first = "uniform"};
      EXPECT_EQ(grouped(options, clients.input(), seed), direct(clients, score, true, 300, 11, seed))
          << word << " seed " << seed;
    }
  }
}

TEST(GreedyComplement, LargeClientsStayAlone) {
  const LabelledClients clients = clients_of(2, {900, 0, 0, 800, 400, 500});
  EXPECT_EQ(grouped({.method = "greedy-complement"}, clients.input()), (Lists{{0}, {1}, {2}}));
}

TEST(GreedyComplement, RefusesWhatIsNotAProbability) {
  Clients clients = clients_from(kConfident, 100);
  clients.samples[1] = 0;
  clients.vectors.row(3)[0] = 0.5f;
  for (const char* score : {"", "kl", "gini"}) {
    const auto formed = form_groups({.method = "greedy-complement", .score = score}, clients.input(), {});
    ASSERT_FALSE(formed);
    EXPECT_EQ(
        formed.error().message,
        "vectors: client 3 sums to 1.4, but grouping.score = kl | gini needs probabilities, which are never negative "
        "and sum to 1; cosine | wasserstein take any vector");
  }
  clients.vectors.row(3)[0] = -0.1f;
  clients.vectors.row(3)[1] = 0.3f;
  const auto negative = form_groups({.method = "greedy-complement", .score = "gini"}, clients.input(), {});
  ASSERT_FALSE(negative);
  EXPECT_EQ(negative.error().message.find("vectors: client 3 has -0.1, but"), 0u) << negative.error().message;
  for (const char* score : {"cosine", "wasserstein"}) {
    EXPECT_TRUE(form_groups({.method = "greedy-complement", .score = score, .min_samples = 100}, clients.input(), {}));
  }
}

TEST(GreedyComplement, RefusesUnknownWordsAndZeros) {
  const LabelledClients clients = clients_of(2, {900, 0, 0, 800});
  const auto message = [&](const GroupingOptions& options) {
    const auto formed = form_groups(options, clients.input(), {});
    return formed ? std::string() : formed.error().message;
  };
  EXPECT_EQ(message({.method = "greedy-complement", .score = "l2"}),
            "grouping.score: \"l2\", want kl | gini | cosine | wasserstein");
  EXPECT_EQ(message({.method = "greedy-complement", .first = "best"}),
            "grouping.first: \"best\", want random | uniform");
  EXPECT_EQ(message({.method = "greedy-complement", .min_samples = 0}), "grouping.min-samples: 0, want >= 1");
  EXPECT_EQ(message({.method = "greedy-complement", .max_clients = 0}), "grouping.max-clients: 0, want >= 1");
}

}  // namespace
}  // namespace muster
