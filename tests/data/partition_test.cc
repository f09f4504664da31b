#include "data/partition.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>

#include "data/raw_data.h"
#include "data/stored_data.h"
#include "data/view_rows.h"

namespace muster {
namespace {

using testing::HasSubstr;

constexpr std::uint64_t kSeed = 7;

// `per_class` samples of each class; the first feature of a row is its number, so rows can be told apart.
Samples balanced(std::uint32_t classes, std::uint32_t per_class, Shape shape = {2, 2, 1}) {
  Samples samples;
  samples.storage = Samples::Storage::kFloats;
  samples.shape = shape;
  samples.classes = classes;
  for (std::uint32_t i = 0; i < classes * per_class; ++i) {
    samples.labels.push_back(static_cast<std::int32_t>(i % classes));
    samples.floats.push_back(static_cast<float>(i));
    samples.floats.resize(samples.floats.size() + shape.size() - 1);
  }
  return samples;
}

Division divide(const std::string& name, const Samples& samples, const DataOptions& options, std::uint32_t clients,
                std::uint64_t seed = kSeed) {
  const auto law = find_partition_law(name);
  EXPECT_TRUE(law.ok());
  Stream stream({.seed = seed, .purpose = Purpose::kPartition});
  auto division =
      (*law)->divide({.labels = samples.labels, .classes = samples.classes, .clients = clients}, options, stream);
  EXPECT_TRUE(division.ok()) << division.error().message;
  return std::move(division).value();
}

std::vector<std::uint32_t> class_counts(const Division& division, std::uint32_t client, const Samples& samples) {
  std::vector<std::uint32_t> counts(samples.classes, 0);
  for (const std::uint32_t row : division.of(client)) ++counts[static_cast<std::size_t>(samples.labels[row])];
  return counts;
}

std::uint32_t classes_held(const Division& division, std::uint32_t client, const Samples& samples) {
  std::uint32_t held = 0;
  for (const std::uint32_t count : class_counts(division, client, samples)) held += count > 0 ? 1 : 0;
  return held;
}

std::string division_error(RawData raw, const DataOptions& options) {
  const auto data = divide_among_clients(std::move(raw), options, kSeed, "toy");
  return data.ok() ? "" : data.error().message;
}

std::unique_ptr<FederatedData> divided(RawData raw, const DataOptions& options, std::uint64_t seed = kSeed) {
  auto data = divide_among_clients(std::move(raw), options, seed, "toy");
  EXPECT_TRUE(data.ok()) << data.error().message;
  return std::move(data).value();
}

std::string law_name(const testing::TestParamInfo<std::string>& law) {
  std::string name = law.param;
  std::ranges::replace(name, '-', '_');
  return name;
}

// Every law that needs no clients of the source, on the same toy data.
class EveryLaw : public testing::TestWithParam<std::string> {};

TEST_P(EveryLaw, GivesNoRowTwiceWithinACopyAndIsRepeatable) {
  const Samples samples = balanced(10, 100);
  const Division division = divide(GetParam(), samples, {}, 20);
  EXPECT_EQ(division.clients(), 20u);
  EXPECT_EQ(division.offsets.front(), 0u);
  EXPECT_EQ(division.offsets.back(), division.rows.size());
  std::set<std::pair<std::uint32_t, std::uint32_t>> seen;
  for (std::uint32_t k = 0; k < division.clients(); ++k) {
    const std::uint32_t copy = GetParam() == "rotated-copies" ? division.planted[k] : 0;
    for (const std::uint32_t row : division.of(k)) {
      EXPECT_LT(row, samples.size());
      EXPECT_TRUE(seen.insert({copy, row}).second) << "row " << row << " twice";
    }
  }
  EXPECT_EQ(divide(GetParam(), samples, {}, 20).rows, division.rows);
  EXPECT_NE(divide(GetParam(), samples, {}, 20, kSeed + 1).rows, division.rows);
}

TEST_P(EveryLaw, WorksForOneClassOneClientAndFewSamples) {
  for (const std::uint32_t per_class : {8u, 40u}) {
    const Samples samples = balanced(1, per_class);
    DataOptions options;
    options.classes_per_client = 1;
    const Division division = divide(GetParam(), samples, options, 4);
    EXPECT_EQ(division.clients(), 4u);
    EXPECT_LE(division.rows.size(), std::size_t{per_class} * 4);
  }
}

INSTANTIATE_TEST_SUITE_P(Laws, EveryLaw,
                         testing::Values("iid", "dirichlet", "dirichlet-classes", "dirichlet-truncated",
                                         "classes-per-client", "shards", "label-groups", "rotations", "rotated-copies"),
                         law_name);

// Laws that use every sample.
class CoveringLaw : public testing::TestWithParam<std::string> {};

TEST_P(CoveringLaw, CoversEverySample) {
  const Samples samples = balanced(10, 101);
  for (const double alpha : {0.0, 1e-200, 0.01, 1.0, std::numeric_limits<double>::infinity()}) {
    DataOptions options;
    options.alpha = alpha;
    Division division = divide(GetParam(), samples, options, 16);
    // Pure classes of a client cannot use the rests of classes that no client is left for.
    if (GetParam() == "dirichlet" && alpha == 0) continue;
    std::ranges::sort(division.rows);
    std::vector<std::uint32_t> all(samples.size());
    std::iota(all.begin(), all.end(), 0u);
    EXPECT_EQ(division.rows, all) << "alpha " << alpha;
  }
}

INSTANTIATE_TEST_SUITE_P(Laws, CoveringLaw,
                         testing::Values("iid", "dirichlet", "dirichlet-classes", "shards", "rotations"), law_name);

TEST(Iid, SizesAreEqualToWithinOneOrDrawn) {
  const Samples samples = balanced(10, 101);
  const Division equal = divide("iid", samples, {}, 100);
  for (std::uint32_t k = 0; k < 100; ++k) EXPECT_EQ(equal.size(k), k < 10 ? 11u : 10u);

  DataOptions options;
  options.samples_min = 3;
  options.samples_max = 9;
  const Division drawn = divide("iid", samples, options, 100);
  std::set<std::uint32_t> sizes;
  for (std::uint32_t k = 0; k < 100; ++k) sizes.insert(drawn.size(k));
  EXPECT_EQ(sizes, (std::set<std::uint32_t>{3, 4, 5, 6, 7, 8, 9}));
  EXPECT_TRUE(drawn.note.empty());
}

TEST(Iid, DrawnSizesThatDoNotFitAreShrunkAndSaid) {
  DataOptions options;
  options.samples_min = 5;
  options.samples_max = 50;
  const Division division = divide("iid", balanced(10, 100), options, 100);
  EXPECT_THAT(division.note, HasSubstr("shrunk"));
  for (std::uint32_t k = 0; k < 100; ++k) EXPECT_GE(division.size(k), 5u);
  EXPECT_LE(division.rows.size(), 1000u);
  EXPECT_GT(division.rows.size(), 850u);
}

TEST(Dirichlet, AlphaZeroGivesExactlyOneClass) {
  const Samples samples = balanced(10, 600);
  DataOptions options;
  options.alpha = 0;
  for (const std::string law : {"dirichlet", "dirichlet-classes"}) {
    // 100 clients of 60: ten per class, exactly.
    const Division division = divide(law, samples, options, 100);
    for (std::uint32_t k = 0; k < 100; ++k) {
      EXPECT_EQ(division.size(k), 60u) << law;
      EXPECT_EQ(classes_held(division, k, samples), 1u) << law;
    }
  }
  // 97 does not divide: still pure, and the shortage is said.
  const Division uneven = divide("dirichlet", samples, options, 97);
  for (std::uint32_t k = 0; k < 97; ++k) EXPECT_LE(classes_held(uneven, k, samples), 1u);
  EXPECT_THAT(uneven.note, HasSubstr("rest of a class"));
}

TEST(Dirichlet, TinyAlphaEndsWithExactSizesAndIsNearlyPure) {
  const Samples samples = balanced(10, 6000);
  for (const double alpha : {1e-320, 1e-100, 1e-12, 0.001, 0.01}) {
    DataOptions options;
    options.alpha = alpha;
    // 60,000 / 997 does not divide a class: some clients must meet an empty one.
    const Division division = divide("dirichlet", samples, options, 997);
    std::uint32_t pure = 0;
    for (std::uint32_t k = 0; k < 997; ++k) {
      EXPECT_EQ(division.size(k), k < 180 ? 61u : 60u);
      pure += classes_held(division, k, samples) == 1 ? 1 : 0;
    }
    EXPECT_GT(pure, alpha < 0.005 ? 900u : 550u) << alpha;
    EXPECT_THAT(division.note, HasSubstr("empty class"));
  }
}

TEST(Dirichlet, InfiniteAlphaIsThePrior) {
  const Samples samples = balanced(10, 10000);
  DataOptions options;
  options.alpha = std::numeric_limits<double>::infinity();
  options.samples_min = options.samples_max = 5000;
  const Division division = divide("dirichlet", samples, options, 10);
  for (std::uint32_t k = 0; k < 10; ++k) {
    // Multinomial(5000, 1/10): a deviation of 21.
    for (const std::uint32_t count : class_counts(division, k, samples)) EXPECT_NEAR(count, 500, 110);
  }
}

// A share q of Dir(alpha * 1) over F classes has variance p (1 - p) / (alpha F + 1); drawing n samples by it adds
// (p (1 - p) - variance) / n. Few clients of a large pool, so that exhaustion plays no part.
TEST(Dirichlet, SharesHaveTheVarianceOfTheLaw) {
  constexpr std::uint32_t kClasses = 5;
  constexpr std::uint32_t kSize = 20;
  const Samples samples = balanced(kClasses, 20000, {1, 1, 1});
  for (const double alpha : {0.05, 0.5, 5.0}) {
    DataOptions options;
    options.alpha = alpha;
    options.samples_min = options.samples_max = kSize;
    double squares = 0;
    constexpr std::uint32_t kClients = 2000;
    const Division division = divide("dirichlet", samples, options, kClients);
    for (std::uint32_t k = 0; k < kClients; ++k) {
      for (const std::uint32_t count : class_counts(division, k, samples)) {
        const double deviation = static_cast<double>(count) / kSize - 1.0 / kClasses;
        squares += deviation * deviation;
      }
    }
    const double p = 1.0 / kClasses;
    const double law = p * (1 - p) / (alpha * kClasses + 1);
    EXPECT_NEAR(squares / (kClients * kClasses), law + (p * (1 - p) - law) / kSize, 0.05 * law + 0.0005) << alpha;
  }
}

TEST(DirichletClasses, IsMoreEvenThanOneDrawAndSharesClassesUnevenly) {
  const Samples samples = balanced(10, 500);
  DataOptions options;
  options.alpha = 0.2;
  const Division division = divide("dirichlet-classes", samples, options, 50);
  double squares = 0;
  for (std::uint32_t k = 0; k < 50; ++k) squares += std::pow(division.size(k) - 100.0, 2);
  EXPECT_LT(std::sqrt(squares / 50), 75);
  std::uint32_t held = 0;
  for (std::uint32_t k = 0; k < 50; ++k) held += classes_held(division, k, samples);
  EXPECT_LT(held / 50.0, 7);
  EXPECT_GT(held / 50.0, 1.2);
}

// One draw deviates by 49 on average, the worst of a hundred by 69, the most even by 38.
TEST(DirichletClasses, KeepsTheMostEvenOfAHundredDraws) {
  const Samples samples = balanced(10, 500);
  DataOptions options;
  options.alpha = 0.2;
  double deviations = 0;
  constexpr std::uint32_t kSeeds = 10;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const Division division = divide("dirichlet-classes", samples, options, 50, seed);
    double squares = 0;
    for (std::uint32_t k = 0; k < 50; ++k) squares += std::pow(division.size(k) - 100.0, 2);
    deviations += std::sqrt(squares / 50);
  }
  EXPECT_LT(deviations / kSeeds, 40);
  EXPECT_GT(deviations / kSeeds, 33);
}

TEST(DirichletTruncated, SizesStayBelowTheDrawAndDefaultTo20To200) {
  const Samples samples = balanced(10, 5000);
  DataOptions options;
  options.alpha = 0.1;
  const Division division = divide("dirichlet-truncated", samples, options, 300);
  double total = 0;
  for (std::uint32_t k = 0; k < 300; ++k) {
    EXPECT_LE(division.size(k), 200u);
    total += division.size(k);
  }
  // The mean draw is 110; rounding ten shares down costs at most 9, and less where most shares are 0.
  EXPECT_GT(total / 300, 95);
  EXPECT_LT(total / 300, 118);
}

TEST(DirichletTruncated, SizesAndMixFollowTheirBounds) {
  const Samples samples = balanced(10, 5000);
  DataOptions options;
  options.alpha = std::numeric_limits<double>::infinity();
  const Division even = divide("dirichlet-truncated", samples, options, 300);
  std::uint32_t smallest = 200;
  for (std::uint32_t k = 0; k < 300; ++k) smallest = std::min(smallest, even.size(k));
  EXPECT_GE(smallest, 20u);
  EXPECT_LE(smallest, 30u);
  const auto held = [&](double alpha) {
    options.alpha = alpha;
    const Division division = divide("dirichlet-truncated", samples, options, 100);
    double sum = 0;
    for (std::uint32_t k = 0; k < 100; ++k) sum += classes_held(division, k, samples);
    return sum / 100;
  };
  EXPECT_LT(held(0.01), 2);
  EXPECT_GT(held(100), 9);
}

TEST(DirichletTruncated, RunsOutWithoutFailing) {
  const Division division = divide("dirichlet-truncated", balanced(2, 50), {}, 20);
  EXPECT_LE(division.rows.size(), 100u);
  EXPECT_THAT(division.note, HasSubstr("fewer samples"));
}

TEST(ClassesPerClient, IsFedProxsSplitOfMnist) {
  // The 70,000 images by class, as FedProx divides them: its result is 69,035 samples, min 10, mean 69.
  const std::uint32_t mnist[] = {6903, 7877, 6990, 7141, 6824, 6313, 6876, 7293, 6825, 6958};
  Samples samples;
  samples.shape = {1, 1, 1};
  samples.classes = 10;
  for (std::int32_t c = 0; c < 10; ++c) samples.labels.insert(samples.labels.end(), mnist[c], c);
  const Division division = divide("classes-per-client", samples, {}, 1000);
  // Each of 2,000 shares loses half a sample to rounding, on average.
  EXPECT_NEAR(static_cast<double>(division.rows.size()), 69035, 150);
  std::uint32_t largest = 0;
  for (std::uint32_t k = 0; k < 1000; ++k) {
    const auto counts = class_counts(division, k, samples);
    for (std::uint32_t c = 0; c < 10; ++c) {
      if (c == k % 10 || c == (k + 1) % 10) {
        EXPECT_GE(counts[c], 5u);
      } else {
        EXPECT_EQ(counts[c], 0u);
      }
    }
    largest = std::max(largest, division.size(k));
  }
  EXPECT_GT(largest, 500u);
}

TEST(ClassesPerClient, ScalesTheFirstShareToWhatThereIs) {
  const Samples samples = balanced(4, 10);
  DataOptions options;
  options.classes_per_client = 4;
  const Division division = divide("classes-per-client", samples, options, 10);
  for (std::uint32_t k = 0; k < 10; ++k) EXPECT_EQ(division.size(k), 4u);
}

TEST(Shards, GivesAboutThatManyClassesAndEqualSizes) {
  const Samples samples = balanced(10, 600);
  const Division division = divide("shards", samples, {}, 100);
  for (std::uint32_t k = 0; k < 100; ++k) {
    EXPECT_EQ(division.size(k), 60u);
    EXPECT_LE(classes_held(division, k, samples), 2u);
  }
}

// The class of the client's first row.
std::vector<std::int32_t> first_classes(const Division& division, const Samples& samples) {
  std::vector<std::int32_t> classes;
  for (std::uint32_t k = 0; k < division.clients(); ++k) classes.push_back(samples.labels[division.of(k)[0]]);
  return classes;
}

TEST(Shards, AreShuffledBeforeTheyAreDealt) {
  const Samples samples = balanced(10, 600);
  const Division division = divide("shards", samples, {}, 100);
  // Neighbouring shards are of one class. Dealt at random, a client's second shard is of the first's class in 19 of 199
  // cases.
  std::uint32_t pure = 0;
  for (std::uint32_t k = 0; k < 100; ++k) pure += classes_held(division, k, samples) == 1 ? 1 : 0;
  EXPECT_LT(pure, 25u);
  EXPECT_FALSE(std::ranges::is_sorted(first_classes(division, samples)));
  EXPECT_NE(first_classes(divide("shards", samples, {}, 100, kSeed + 1), samples), first_classes(division, samples));
}

TEST(Dirichlet, AlphaZeroDealsClassesAtRandom) {
  const Samples samples = balanced(10, 60);
  DataOptions options;
  options.alpha = 0;
  for (const std::string law : {"dirichlet", "dirichlet-classes"}) {
    const Division division = divide(law, samples, options, 100);
    EXPECT_FALSE(std::ranges::is_sorted(first_classes(division, samples))) << law;
    EXPECT_NE(first_classes(divide(law, samples, options, 100, kSeed + 1), samples), first_classes(division, samples))
        << law;
  }
}

TEST(LabelGroups, AreAutoCflsFourWithEqualSizes) {
  const Samples samples = balanced(10, 6000);
  const Division division = divide("label-groups", samples, {}, 20);
  const std::pair<std::uint32_t, std::uint32_t> ranges[] = {{0, 2}, {3, 6}, {4, 9}, {0, 9}};
  for (std::uint32_t k = 0; k < 20; ++k) {
    EXPECT_EQ(division.planted[k], k / 5);
    EXPECT_EQ(division.size(k), division.size(0));
    const auto counts = class_counts(division, k, samples);
    const auto [first, last] = ranges[k / 5];
    for (std::uint32_t c = 0; c < 10; ++c) {
      if (c < first || c > last) {
        EXPECT_EQ(counts[c], 0u);
      } else {
        EXPECT_NEAR(counts[c], static_cast<double>(division.size(k)) / (last - first + 1), 1);
      }
    }
  }
  // Classes 4-6 serve 5/4 + 5/6 + 5/10 clients: 6000 / 2.5833 = 2322.6 samples each.
  EXPECT_NEAR(division.size(0), 2322, 2);
  EXPECT_THAT(division.note, HasSubstr("unused"));
}

TEST(LabelGroups, DealTheOddSamplesToDifferentClasses) {
  const Samples samples = balanced(3, 100);
  DataOptions options;
  options.label_groups = "0-2";
  options.samples_max = 4;
  const Division division = divide("label-groups", samples, options, 3);
  using Counts = std::vector<std::uint32_t>;
  EXPECT_EQ(class_counts(division, 0, samples), (Counts{2, 1, 1}));
  EXPECT_EQ(class_counts(division, 1, samples), (Counts{1, 1, 2}));
  EXPECT_EQ(class_counts(division, 2, samples), (Counts{1, 2, 1}));
}

TEST(LabelGroups, CanBeWrittenOut) {
  const Samples samples = balanced(6, 100);
  DataOptions options;
  options.label_groups = "0-2,3+5";
  const Division division = divide("label-groups", samples, options, 4);
  EXPECT_EQ(classes_held(division, 0, samples), 3u);
  EXPECT_EQ(class_counts(division, 3, samples)[4], 0u);
  EXPECT_EQ(class_counts(division, 3, samples)[5], class_counts(division, 3, samples)[3]);
  for (const char* bad : {"0-6", "x", "2-1", "0-2,,3", "1+", "-1"}) {
    options.label_groups = bad;
    options.partition = "label-groups";
    options.clients = 4;
    if (std::string(bad) == "1+") continue;  // a trailing plus adds nothing
    EXPECT_THAT(division_error({.train = samples}, options), HasSubstr("data.label-groups")) << bad;
  }
}

TEST(Rotations, PlantTurnsInBlocks) {
  const Samples samples = balanced(10, 100);
  DataOptions options;
  const Division four = divide("rotations", samples, options, 20);
  for (std::uint32_t k = 0; k < 20; ++k) EXPECT_EQ(four.quarter_turns[k], k / 5);
  options.rotations = 2;
  const Division two = divide("rotations", samples, options, 20);
  for (std::uint32_t k = 0; k < 20; ++k) EXPECT_EQ(two.quarter_turns[k], k < 10 ? 0 : 2);
}

TEST(RotatedCopies, HoldTheWholeSetPerRotationAndNeverTestOnTrainingRows) {
  DataOptions options;
  options.partition = "rotated-copies";
  options.clients = 40;
  options.test_fraction = 0.2;
  const auto data = divided({.train = balanced(10, 100)}, options);
  SampleBuffer buffer;
  std::set<std::uint32_t> train_rows;
  std::set<std::uint32_t> test_rows;
  for (std::uint32_t k = 0; k < 40; ++k) {
    const SampleView train = data->train({k}, buffer);
    const SampleView test = data->test({k}, buffer);
    EXPECT_EQ(train.size(), 80u);
    EXPECT_EQ(test.size(), 20u);
    EXPECT_EQ(train.quarter_turns, k / 10);
    EXPECT_EQ(test.quarter_turns, k / 10);
    train_rows.insert(train.rows.begin(), train.rows.end());
    test_rows.insert(test.rows.begin(), test.rows.end());
  }
  EXPECT_EQ(train_rows.size(), 800u);
  EXPECT_EQ(test_rows.size(), 200u);
  for (const std::uint32_t row : test_rows) EXPECT_FALSE(train_rows.contains(row));
  EXPECT_EQ(data->global_test().size(), 200u);
}

TEST(Imbalance, ReducesNineOfTwentyAndKeepsTheMix) {
  const Samples samples = balanced(10, 2000);
  Division division = divide("iid", samples, {}, 20);
  Stream stream({.seed = kSeed, .purpose = Purpose::kPartition});
  std::vector<std::vector<std::uint32_t>> before(20);
  for (std::uint32_t k = 0; k < 20; ++k) before[k] = class_counts(division, k, samples);
  reduce_shares(samples.labels, stream, division);
  std::map<std::uint32_t, int> sizes;
  for (std::uint32_t k = 0; k < 20; ++k) {
    ++sizes[division.size(k)];
    const auto after = class_counts(division, k, samples);
    for (std::uint32_t c = 0; c < 10; ++c) EXPECT_NEAR(after[c], before[k][c] * division.size(k) / 1000.0, 1.01);
  }
  EXPECT_EQ(sizes, (std::map<std::uint32_t, int>{{100, 3}, {300, 3}, {600, 3}, {1000, 11}}));
}

RawData with_owners() {
  RawData raw;
  raw.train = balanced(2, 20);
  raw.test = balanced(2, 5);
  raw.client_names = {"ann", "bob", "cyd", "nobody"};
  for (std::uint32_t i = 0; i < 40; ++i) raw.train_clients.push_back(i < 10 ? 0 : i < 15 ? 2 : 1);
  for (std::uint32_t i = 0; i < 10; ++i) raw.test_clients.push_back(i < 4 ? 1 : i < 6 ? 3 : 2);
  return raw;
}

TEST(Natural, IsTheDefaultAndFollowsTheSource) {
  const auto data = divided(with_owners(), {});
  ASSERT_EQ(data->clients(), 3u);
  EXPECT_EQ(data->client_name({0}), "ann");
  EXPECT_EQ(data->train_count({0}), 10u);
  EXPECT_EQ(data->train_count({1}), 25u);
  EXPECT_EQ(data->train_count({2}), 5u);
  EXPECT_EQ(data->test_count({0}), 0u);
  EXPECT_EQ(data->test_count({1}), 4u);
  EXPECT_EQ(data->test_count({2}), 4u);
  EXPECT_EQ(data->global_test().size(), 10u);
  EXPECT_EQ(data->summary(), "toy, natural, 3 clients, 40 train, 10 test");
}

TEST(Natural, PicksClientsAndBoundsTheirSamples) {
  DataOptions options;
  options.samples_min = 6;
  options.samples_max = 12;
  const auto data = divided(with_owners(), options);
  ASSERT_EQ(data->clients(), 2u);
  EXPECT_EQ(data->train_count({0}), 10u);
  EXPECT_EQ(data->train_count({1}), 12u);
  options.clients = 3;
  EXPECT_EQ(division_error(with_owners(), options),
            "data.clients: 3, but the source has only 2 clients with 6 or more training samples");
  EXPECT_THAT(division_error({.train = balanced(2, 4)}, {.partition = "natural"}),
              HasSubstr("needs a source with clients"));
}

// Twenty writers with ten rows each, one after the other.
RawData writers() {
  RawData raw;
  raw.train = balanced(2, 100);
  for (std::uint32_t o = 0; o < 20; ++o) {
    raw.client_names.push_back(std::to_string(o));
    raw.train_clients.insert(raw.train_clients.end(), 10, o);
  }
  return raw;
}

TEST(Natural, PicksRandomClientsAndRandomRowsOfThem) {
  DataOptions options;
  options.clients = 5;
  options.samples_max = 4;
  options.test_fraction = 0;
  const auto picked = [&](std::uint64_t seed) {
    const auto data = divided(writers(), options, seed);
    SampleBuffer buffer;
    std::vector<std::vector<std::uint32_t>> rows;
    for (std::uint32_t k = 0; k < 5; ++k) {
      rows.push_back(rows_of(data->train({k}, buffer)));
      EXPECT_EQ(rows.back().size(), 4u);
      for (const std::uint32_t row : rows.back()) EXPECT_EQ(std::to_string(row / 10), data->client_name({k}));
    }
    return rows;
  };
  const auto some = picked(1);
  const auto others = picked(2);
  std::vector<std::uint32_t> owners;
  std::vector<std::uint32_t> other_owners;
  std::uint32_t leading = 0;  // clients that kept their first four rows
  for (std::size_t k = 0; k < 5; ++k) {
    owners.push_back(some[k][0] / 10);
    other_owners.push_back(others[k][0] / 10);
    leading += some[k][3] - some[k][0] == 3 && some[k][0] % 10 == 0 ? 1 : 0;
  }
  EXPECT_NE(owners, (std::vector<std::uint32_t>{0, 1, 2, 3, 4}));
  EXPECT_NE(owners, other_owners);
  EXPECT_LT(leading, 3u);
  options.samples_min = 10;  // as many as they have
  EXPECT_EQ(divided(writers(), options)->clients(), 5u);
}

TEST(Split, DrawsAnewForEveryClientAndSeed) {
  DataOptions options;
  options.test_fraction = 0.3;
  std::set<std::vector<std::uint32_t>> places;
  const auto data = divided(writers(), options);
  SampleBuffer buffer;
  for (std::uint32_t k = 0; k < 20; ++k) {
    std::vector<std::uint32_t> rows = rows_of(data->test({k}, buffer));
    for (std::uint32_t& row : rows) row %= 10;
    places.insert(rows);
  }
  EXPECT_GT(places.size(), 10u);

  options.partition = "iid";
  options.clients = 4;
  EXPECT_NE(rows_of(divided({.train = balanced(2, 100)}, options, 1)->train({0}, buffer)),
            rows_of(divided({.train = balanced(2, 100)}, options, 2)->train({0}, buffer)));
}

TEST(Split, TestsOfPlantedClientsAreNotBoundedByTrainingSizes) {
  DataOptions options;
  options.partition = "label-groups";
  options.samples_max = 5;
  const auto data = divided({.train = balanced(10, 600), .test = balanced(10, 100)}, options);
  EXPECT_EQ(data->train_count({0}), 5u);
  EXPECT_GT(data->test_count({0}), 20u);
}

TEST(Imbalance, IsAskedForByTheOption) {
  DataOptions options;
  options.clients = 20;
  options.imbalance = true;
  options.test_fraction = 0;
  const auto sizes = [&](std::uint64_t seed) {
    const auto data = divided({.train = balanced(10, 200)}, options, seed);
    std::vector<std::uint32_t> counts;
    for (std::uint32_t k = 0; k < 20; ++k) counts.push_back(data->train_count({k}));
    return counts;
  };
  const std::vector<std::uint32_t> some = sizes(1);
  EXPECT_EQ(std::ranges::count(some, 10u), 3);
  EXPECT_EQ(std::ranges::count(some, 100u), 11);
  EXPECT_NE(some, sizes(2));
}

TEST(Exemplars, AreRandomTestSamples) {
  DataOptions options;
  options.clients = 5;
  options.exemplars = 3;
  RawData raw{.train = balanced(4, 50), .test = balanced(4, 50)};
  const std::vector<std::uint32_t> some = rows_of(divided(raw, options, 1)->exemplars());
  EXPECT_NE(some, rows_of(divided(raw, options, 2)->exemplars()));
  EXPECT_GT(some[2], 11u) << "the first three of class 0";
}

TEST(Split, IsTheFractionOfEachClientAndTogetherTheServersTest) {
  DataOptions options;
  options.clients = 10;
  const auto data = divided({.train = balanced(10, 100)}, options);
  SampleBuffer buffer;
  std::set<std::uint32_t> rows;
  for (std::uint32_t k = 0; k < 10; ++k) {
    EXPECT_EQ(data->train_count({k}), 90u);
    EXPECT_EQ(data->test_count({k}), 10u);
    const SampleView train = data->train({k}, buffer);
    const SampleView test = data->test({k}, buffer);
    rows.insert(train.rows.begin(), train.rows.end());
    rows.insert(test.rows.begin(), test.rows.end());
  }
  EXPECT_EQ(rows.size(), 1000u);
  EXPECT_EQ(data->global_test().size(), 100u);
}

TEST(Split, TakesRandomRowsOfAClient) {
  // One client that owns everything in order: neither the first nor the last rows, and others with another seed.
  RawData raw;
  raw.train = balanced(2, 50);
  raw.client_names = {"ann"};
  raw.train_clients.assign(100, 0);
  DataOptions options;
  options.test_fraction = 0.2;
  const auto rows = [&](std::uint64_t seed) {
    const auto data = divided(raw, options, seed);
    SampleBuffer buffer;
    const SampleView test = data->test({0}, buffer);
    return std::vector<std::uint32_t>(test.rows.begin(), test.rows.end());
  };
  const std::vector<std::uint32_t> some = rows(1);
  ASSERT_EQ(some.size(), 20u);
  EXPECT_LT(some.front(), 40u);
  EXPECT_GT(some.back(), 60u);
  EXPECT_NE(some.back() - some.front(), 19u);
  EXPECT_NE(rows(2), some);
}

TEST(LargestTrainCount, IsThatOfTheLargestClient) {
  const auto data = divided(with_owners(), {});
  EXPECT_EQ(data->largest_train_count(), 25u);
}

TEST(Split, NeverTakesTheLastTrainingSample) {
  DataOptions options;
  options.clients = 10;
  options.test_fraction = 0.99;
  const auto data = divided({.train = balanced(10, 1)}, options);
  for (std::uint32_t k = 0; k < 10; ++k) EXPECT_EQ(data->train_count({k}), 1u);
}

TEST(Split, WithASourceTestSetClientsHaveTestsOnlyOnRequest) {
  DataOptions options;
  options.clients = 10;
  RawData raw{.train = balanced(10, 100), .test = balanced(10, 20)};
  const auto none = divided(raw, options);
  EXPECT_EQ(none->test_count({3}), 0u);
  EXPECT_EQ(none->global_test().size(), 200u);
  options.test_fraction = 0.2;
  const auto some = divided(raw, options);
  EXPECT_EQ(some->test_count({3}), 20u);
  EXPECT_EQ(some->train_count({3}), 80u);
  EXPECT_EQ(some->global_test().size(), 200u);
  SampleBuffer buffer;
  EXPECT_NE(some->test({3}, buffer).samples, some->global_test().samples);
}

TEST(Split, PlantedClientsAreTestedOnTheirOwnKind) {
  DataOptions options;
  options.partition = "label-groups";
  RawData raw{.train = balanced(10, 600), .test = balanced(10, 100)};
  const auto data = divided(raw, options);
  SampleBuffer buffer;
  const SampleView test = data->test({0}, buffer);
  EXPECT_EQ(test.samples, data->global_test().samples);
  EXPECT_GT(test.size(), 10u);
  for (const std::uint32_t row : test.rows) EXPECT_LE(test.samples->labels[row], 2);
  EXPECT_EQ(data->planted_cluster({19}), 3u);

  options.partition = "rotations";
  const auto turned = divided(raw, options);
  EXPECT_EQ(turned->test({19}, buffer).quarter_turns, 3u);
  EXPECT_EQ(turned->train({19}, buffer).quarter_turns, 3u);
  EXPECT_EQ(turned->test({19}, buffer).size(), 50u);
}

TEST(Split, MergedTestSetIsDividedToo) {
  DataOptions options;
  options.clients = 10;
  options.merge_test = true;
  const auto data = divided({.train = balanced(10, 90), .test = balanced(10, 10)}, options);
  EXPECT_EQ(data->summary(), "toy, iid, 10 clients, 900 train, 100 test");
}

TEST(Exemplars, LeaveTheTestSets) {
  DataOptions options;
  options.clients = 5;
  options.exemplars = 3;
  options.test_fraction = 0.5;
  const auto data = divided({.train = balanced(4, 50)}, options);
  const SampleView exemplars = data->exemplars();
  ASSERT_EQ(exemplars.size(), 12u);
  std::set<std::uint32_t> taken(exemplars.rows.begin(), exemplars.rows.end());
  for (std::size_t i = 0; i < 12; ++i) EXPECT_EQ(exemplars.samples->labels[exemplars.rows[i]], static_cast<int>(i / 3));
  EXPECT_EQ(data->global_test().size(), 88u);
  for (const std::uint32_t row : data->global_test().rows) EXPECT_FALSE(taken.contains(row));
  SampleBuffer buffer;
  std::size_t tests = 0;
  for (std::uint32_t k = 0; k < 5; ++k) {
    for (const std::uint32_t row : data->test({k}, buffer).rows) EXPECT_FALSE(taken.contains(row));
    tests += data->test_count({k});
  }
  EXPECT_EQ(tests, 88u);
  options.exemplars = 200;
  EXPECT_THAT(division_error({.train = balanced(4, 50)}, options),
              HasSubstr("data.exemplars: 200, but class 0 has only"));
}

TEST(Edges, AreContiguousEqualBlocks) {
  DataOptions options;
  options.clients = 10;
  options.edges = 3;
  const auto data = divided({.train = balanced(10, 10)}, options);
  std::vector<std::uint32_t> sizes(3, 0);
  for (std::uint32_t k = 0; k < 10; ++k) {
    ++sizes[data->edge({k})];
    if (k > 0) {
      EXPECT_GE(data->edge({k}), data->edge({k - 1}));
    }
  }
  std::ranges::sort(sizes);
  EXPECT_EQ(sizes, (std::vector<std::uint32_t>{3, 3, 4}));
  options.edges = 11;
  EXPECT_EQ(division_error({.train = balanced(10, 10)}, options), "data.edges: 11, want 1..10 (the clients)");
}

TEST(Errors, NameTheKeyTheValueAndWhatIsAccepted) {
  const RawData raw{.train = balanced(10, 10)};
  const auto with = [&](auto change) {
    DataOptions options;
    change(options);
    return division_error(raw, options);
  };
  EXPECT_EQ(with([](auto& o) { o.clients = 101; }),
            "data.clients: 101, want at most 100 (the training samples of toy)");
  EXPECT_EQ(with([](auto& o) { o.clients = 0; }), "data.clients: 0, want at least 1");
  EXPECT_EQ(with([](auto& o) { o.test_fraction = 1; }), "data.test-fraction: 1, want a number in [0, 1)");
  EXPECT_EQ(with([](auto& o) { o.test_fraction = std::nan(""); }), "data.test-fraction: nan, want a number in [0, 1)");
  EXPECT_THAT(with([](auto& o) { o.partition = "dirichlit"; }), HasSubstr("did you mean 'dirichlet'?"));
  EXPECT_EQ(with([](auto& o) { o.partition = "dirichlet", o.alpha = -1; }),
            "data.alpha: -1, want a number >= 0 or inf");
  EXPECT_EQ(with([](auto& o) { o.partition = "classes-per-client", o.clients = 4, o.classes_per_client = 11; }),
            "data.classes-per-client: 11, want 1..10 (the classes of the source)");
  EXPECT_THAT(with([](auto& o) { o.partition = "shards", o.clients = 60; }), HasSubstr("at most 100 in all"));
  EXPECT_THAT(with([](auto& o) { o.clients = 10, o.samples_min = 11, o.samples_max = 12; }),
              HasSubstr("data.samples-min: 11 for each of 10 clients, but there are only 100"));
  EXPECT_THAT(with([](auto& o) { o.samples_min = 1; }), HasSubstr("data.samples-min needs data.samples-max"));
  EXPECT_EQ(with([](auto& o) { o.partition = "rotations", o.clients = 10; }),
            "data.clients: 10, want a multiple of rotations = 4");
  EXPECT_EQ(with([](auto& o) { o.partition = "rotations", o.rotations = 3; }), "data.rotations: 3, want 1, 2 or 4");
  EXPECT_THAT(with([](auto& o) { o.partition = "shards", o.imbalance = true; }), HasSubstr("data.imbalance"));
  EXPECT_THAT(division_error({.train = balanced(10, 10, {1, 1, 4})}, {.partition = "rotations"}),
              HasSubstr("square images"));
  EXPECT_THAT(division_error({}, {}), HasSubstr("no training samples"));
}

TEST(Summary, CountsClientsWithoutSamples) {
  DataOptions options;
  options.partition = "dirichlet-truncated";
  options.clients = 50;
  const auto data = divided({.train = balanced(2, 50)}, options);
  EXPECT_THAT(data->summary(), HasSubstr("clients without samples"));
  SampleBuffer buffer;
  EXPECT_EQ(data->train({49}, buffer).size(), data->train_count({49}));
}

TEST(LabelCounts, CountTheTrainingRows) {
  DataOptions options;
  options.clients = 1;
  options.test_fraction = 0;
  const auto data = divided({.train = balanced(3, 7)}, options);
  EXPECT_EQ(data->label_counts({0}), (std::vector<std::uint32_t>{7, 7, 7}));
}

// Not a benchmark, but a guard against a law that is quadratic in clients or samples.
TEST(Speed, SixtyThousandSamplesOverAThousandClients) {
  const Samples samples = balanced(10, 6000, {1, 1, 1});
  for (const PartitionLaw& law : partition_laws()) {
    if (law.name == "natural") continue;
    const auto start = std::chrono::steady_clock::now();
    divide(std::string(law.name), samples, {}, 1000);
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
    RecordProperty(std::string(law.name), static_cast<int>(took.count() * 1000));
    EXPECT_LT(took.count(), 3000) << law.name;
  }
}

}  // namespace
}  // namespace muster
