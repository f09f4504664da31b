// Decomposed cosines and mean absolute differences of cosines: the worked numbers, what must not change them, and zero
// updates.
#include "grouping/updates.h"

#include "grouping/gram.h"
#include "grouping/vectors.h"

namespace muster {
namespace {

const Rows<float> kWorked = rows_of({{1, 0, 0}, {0.9f, 0.1f, 0}, {0, 1, 0}, {0, 0.9f, 0.2f}});

double embedded_distance(const Rows<double>& points, std::uint32_t i, std::uint32_t j) {
  double squares = 0;
  for (std::size_t c = 0; c < points.width; ++c) {
    squares += (points.row(i)[c] - points.row(j)[c]) * (points.row(i)[c] - points.row(j)[c]);
  }
  return std::sqrt(squares);
}

TEST(DecomposedCosine, HasTheWorkedEmbedding) {
  const Rows<double> cosines = direction_cosines(gram(kWorked), 2);
  const double wanted[4][2] = {
      {0.650253, 0.759701}, {0.729788, 0.683647}, {0.756240, -0.646629}, {0.753984, -0.646142}};
  const double sign[2] = {cosines.row(0)[0] > 0 ? 1.0 : -1.0, cosines.row(0)[1] > 0 ? 1.0 : -1.0};
  for (std::uint32_t i = 0; i < 4; ++i) {
    for (std::uint32_t t = 0; t < 2; ++t) EXPECT_NEAR(sign[t] * cosines.row(i)[t], wanted[i][t], 1e-6) << i << t;
  }
  // The measure is the mean over directions: the Euclidean distance divided by their number.
  EXPECT_NEAR(embedded_distance(cosines, 0, 1) / 2, 0.055023, 1e-6);
  EXPECT_NEAR(embedded_distance(cosines, 2, 3) / 2, 0.001154, 1e-6);
  EXPECT_NEAR(embedded_distance(cosines, 0, 2) / 2, 0.705159, 1e-6);
}

TEST(DecomposedCosine, PadsWithZerosWhatHasFewerDirections) {
  const Rows<double> cosines = direction_cosines(gram(rows_of({{1, 0}, {2, 0}, {0, 1}})), 3);
  for (std::uint32_t i = 0; i < 3; ++i) EXPECT_EQ(cosines.row(i)[2], 0.0);
  EXPECT_NEAR(std::abs(cosines.row(0)[0]), 1, 1e-12);
  EXPECT_NEAR(std::abs(cosines.row(2)[1]), 1, 1e-12);
  const Rows<double> wide = direction_cosines(gram(rows_of({{1, 0}, {0, 2}})), 5);
  EXPECT_EQ(wide.width, 5u);
  for (std::size_t t = 2; t < 5; ++t) EXPECT_EQ(wide.row(1)[t], 0.0);
}

TEST(MeanAbsoluteCosine, HasTheWorkedDifferences) {
  const Rows<double> differences = mean_absolute_cosine_differences(gram(kWorked));
  EXPECT_NEAR(differences.row(0)[1], 0.109117, 1e-6);
  EXPECT_NEAR(differences.row(2)[3], 0.001315, 1e-6);
  EXPECT_NEAR(differences.row(0)[2], 0.929820, 1e-6);
}

TEST(MeanAbsoluteCosine, AgreesWithItsDefinition) {
  for (const std::uint32_t count : {3u, 17u, 260u}) {
    const Rows<float> rows = random_rows(count, 9, count);
    Rows<double> cosines = gram(rows);
    const Rows<double> found = mean_absolute_cosine_differences(cosines);
    normalize_gram(cosines);
    for (std::uint32_t i = 0; i < count; ++i) {
      for (std::uint32_t j = 0; j < count; ++j) {
        double sum = 0;
        for (std::uint32_t z = 0; z < count; ++z) {
          if (z != i && z != j) sum += std::abs(cosines.row(i)[z] - cosines.row(j)[z]);
        }
        ASSERT_NEAR(found.row(i)[j], i == j ? 0.0 : sum / (count - 2), 3e-7);
      }
    }
  }
}

TEST(MeanAbsoluteCosine, IsZeroWhereNobodyElseIs) {
  const Rows<double> two = mean_absolute_cosine_differences(gram(rows_of({{1, 0}, {0, 1}})));
  EXPECT_EQ(two.values, std::vector<double>(4, 0.0));
}

TEST(Updates, AreComparedWithoutRegardToRotation) {
  const Rows<float> rows = random_rows(30, 50, 8);
  const Rows<float> turned = rotated(rows, 2);
  const Rows<double> differences = mean_absolute_cosine_differences(gram(rows));
  const Rows<double> turned_differences = mean_absolute_cosine_differences(gram(turned));
  const Rows<double> cosines = direction_cosines(gram(rows), 4);
  const Rows<double> turned_cosines = direction_cosines(gram(turned), 4);
  for (std::uint32_t i = 0; i < 30; ++i) {
    for (std::uint32_t j = 0; j < 30; ++j) {
      EXPECT_NEAR(differences.row(i)[j], turned_differences.row(i)[j], 1e-5);
      EXPECT_NEAR(embedded_distance(cosines, i, j), embedded_distance(turned_cosines, i, j), 1e-4);
    }
  }
}

TEST(MeanAbsoluteCosine, DoesNotSeeTheLengthOfUpdates) {
  const Rows<float> rows = random_rows(25, 12, 3);
  Rows<float> scaled = rows;
  Stream stream({.seed = 1});
  for (std::uint32_t i = 0; i < 25; ++i) {
    const auto factor = static_cast<float>(0.1 + 10 * stream.uniform());
    for (float& value : scaled.row(i)) value *= factor;
  }
  const Rows<double> one = mean_absolute_cosine_differences(gram(rows));
  const Rows<double> two = mean_absolute_cosine_differences(gram(scaled));
  for (std::size_t i = 0; i < one.values.size(); ++i) EXPECT_NEAR(one.values[i], two.values[i], 1e-6);
}

class EitherMeasure : public testing::TestWithParam<const char*> {};

TEST_P(EitherMeasure, GroupsTheWorkedUpdates) {
  EXPECT_EQ(groups_by({.method = GetParam(), .groups = 2}, kWorked), (Lists{{0, 1}, {2, 3}}));
}

TEST_P(EitherMeasure, FindsBundlesAndFollowsClientsThatChangePlaces) {
  const GroupingOptions options{.method = GetParam(), .groups = 5};
  for (const auto& [count, width] : {std::pair{40u, 30u}, std::pair{450u, 300u}}) {
    const Rows<float> rows = bundles(count, width, 5, 0.3, count);
    EXPECT_EQ(groups_by(options, rows), bundle_lists(count, 5));
    const std::vector<std::uint32_t> order = random_order(count, 5);
    EXPECT_EQ(named_by(groups_by(options, permuted(rows, order)), order), bundle_lists(count, 5));
  }
}

TEST_P(EitherMeasure, PutsZeroUpdatesInTheLargestGroup) {
  const Rows<float> rows = rows_of({{0, 0}, {1, 0.01f}, {0, 1}, {0.1f, 5}, {0, 0}, {0.02f, 2}, {2, 0.01f}});
  std::vector<std::string> notes;
  EXPECT_EQ(groups_by({.method = GetParam(), .groups = 2}, rows, &notes), (Lists{{0, 2, 3, 4, 5}, {1, 6}}));
  EXPECT_EQ(notes, std::vector<std::string>{
                       "2 clients have zero updates, which have no direction; they are in the largest group"});
  const Rows<float> nothing(3, 4);
  EXPECT_EQ(groups_by({.method = GetParam(), .groups = 2}, nothing, &notes), (Lists{{0, 1, 2}}));
  EXPECT_EQ(notes,
            std::vector<std::string>{"all updates are zero and have no direction; all clients are in one group"});
}

TEST_P(EitherMeasure, NeverSeparatesUpdatesOfOneDirection) {
  const GroupingOptions three{.method = GetParam(), .groups = 3};
  std::vector<std::string> notes;
  // Forty times the same, then lengths that rounding makes point slightly elsewhere; few numbers and many.
  for (const std::size_t width : {5u, 3000u, 20000u}) {
    const Rows<float> one = random_rows(2, width, 6);
    Rows<float> same(40, width), scaled(40, width), two(40, width);
    for (std::uint32_t k = 0; k < 40; ++k) {
      for (std::size_t c = 0; c < width; ++c) {
        same.row(k)[c] = one.row(0)[c];
        scaled.row(k)[c] = one.row(0)[c] * (0.1f + 0.37f * static_cast<float>(k));
        two.row(k)[c] = one.row(k % 2)[c] * (0.1f + 0.37f * static_cast<float>(k));
      }
    }
    const std::vector<std::string> one_direction{
        "grouping.groups: 3, but the clients have only 1 distinct update direction; 1 group formed"};
    EXPECT_EQ(groups_by(three, same, &notes), bundle_lists(40, 1)) << width;
    EXPECT_EQ(notes, one_direction);
    EXPECT_EQ(groups_by(three, scaled, &notes), bundle_lists(40, 1)) << width;
    EXPECT_EQ(notes, one_direction);
    EXPECT_EQ(groups_by(three, two, &notes), bundle_lists(40, 2)) << width;
    EXPECT_EQ(notes,
              std::vector<std::string>{
                  "grouping.groups: 3, but the clients have only 2 distinct update directions; 2 groups formed"});
    EXPECT_EQ(groups_by({.method = GetParam(), .groups = 2}, two, &notes), bundle_lists(40, 2)) << width;
    EXPECT_TRUE(notes.empty());
  }
}

TEST_P(EitherMeasure, KeepsEqualUpdatesTogetherWhereThereAreMoreDirectionsThanGroups) {
  // Twelve directions, each five times.
  const Rows<float> directions = random_rows(12, 40, 17);
  Rows<float> rows(60, 40);
  for (std::uint32_t k = 0; k < 60; ++k) std::ranges::copy(directions.row(k % 12), rows.row(k).begin());
  for (const std::uint32_t groups : {2u, 5u, 11u, 12u}) {
    const Lists formed = groups_by({.method = GetParam(), .groups = groups}, rows);
    EXPECT_EQ(formed.size(), groups);
    for (const auto& group : formed) {
      for (const std::uint32_t client : group) {
        for (std::uint32_t twin = client % 12; twin < 60; twin += 12) {
          EXPECT_TRUE(std::ranges::binary_search(group, twin)) << client << " without " << twin;
        }
      }
    }
  }
}

TEST_P(EitherMeasure, AnswersForOneGroupAndForAsManyAsClients) {
  const Rows<float> rows = random_rows(7, 20, 2);
  EXPECT_EQ(groups_by({.method = GetParam(), .groups = 1}, rows).size(), 1u);
  EXPECT_EQ(groups_by({.method = GetParam(), .groups = 7}, rows).size(), 7u);
  EXPECT_EQ(groups_by({.method = GetParam(), .groups = 1}, random_rows(1, 3, 1)), (Lists{{0}}));
  EXPECT_EQ(complaint({.method = GetParam(), .groups = 8}, rows),
            "grouping.groups: 8, want 1 to 7, the number of clients with samples");
  EXPECT_NE(complaint({.method = GetParam()}, rows), "");
  Rows<float> broken = rows;
  broken.row(3)[2] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(complaint({.method = GetParam(), .groups = 2}, broken), "vectors: client 3 has nan, want finite numbers");
}

INSTANTIATE_TEST_SUITE_P(Updates, EitherMeasure, testing::Values("decomposed-cosine", "mean-absolute-cosine"),
                         [](const auto& method) {
                           return std::string(method.param) == "decomposed-cosine" ? "decomposed" : "mean_absolute";
                         });

}  // namespace
}  // namespace muster
