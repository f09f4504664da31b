// Leading eigenpairs, direct and by iteration, and points from their Gram matrix.
#include "grouping/eigenpairs.h"

#include "grouping/gram.h"
#include "grouping/vectors.h"

namespace muster {
namespace {

// |A v - lambda v|, and that the vectors are orthonormal.
void expect_pairs(const Rows<double>& matrix, const EigenPairs& pairs, double tolerance) {
  const std::uint32_t count = matrix.count();
  for (std::uint32_t t = 0; t < pairs.values.size(); ++t) {
    const std::span<const double> vector = pairs.vectors.row(t);
    double squares = 0;
    for (std::uint32_t i = 0; i < count; ++i) {
      double sum = -pairs.values[t] * vector[i];
      for (std::uint32_t j = 0; j < count; ++j) sum += matrix.row(i)[j] * vector[j];
      squares += sum * sum;
    }
    EXPECT_LE(std::sqrt(squares), tolerance * pairs.values[0]) << t;
    for (std::uint32_t s = 0; s <= t; ++s) {
      double product = 0;
      for (std::uint32_t i = 0; i < count; ++i) product += vector[i] * pairs.vectors.row(s)[i];
      EXPECT_NEAR(product, s == t ? 1 : 0, 1e-9) << s << " " << t;
    }
    EXPECT_TRUE(t == 0 || pairs.values[t] <= pairs.values[t - 1]);
  }
}

TEST(EigenPairs, AreThoseOfTheWorkedUpdates) {
  const Rows<double> matrix = gram(rows_of({{1, 0, 0}, {0.9f, 0.1f, 0}, {0, 1, 0}, {0, 0.9f, 0.2f}}));
  const EigenPairs pairs = leading_eigenpairs(matrix, 4);
  EXPECT_THAT(pairs.values, testing::Pointwise(testing::DoubleNear(1e-6), {1.914669, 1.733395, 0.021935, 0.0}));
  expect_pairs(matrix, pairs, 1e-12);
}

TEST(EigenPairs, OfALargeMatrixAreThoseOfTheSmallOneBesideIt) {
  // Rows times a 60-column matrix: its 60 x 60 product the other way round has the same eigenvalues.
  const Rows<float> rows = bundles(500, 60, 6, 0.5, 1);
  Rows<float> columns(60, 500);
  for (std::uint32_t i = 0; i < 500; ++i) {
    for (std::uint32_t c = 0; c < 60; ++c) columns.row(c)[i] = rows.row(i)[c];
  }
  const Rows<double> large = gram(rows);
  const EigenPairs found = leading_eigenpairs(large, 8);
  const EigenPairs wanted = leading_eigenpairs(gram(columns), 8);
  for (std::size_t t = 0; t < 8; ++t) EXPECT_NEAR(found.values[t], wanted.values[t], 1e-6 * wanted.values[0]);
  expect_pairs(large, found, 1e-9);
  EXPECT_EQ(leading_eigenpairs(large, 8).vectors.values, found.vectors.values);
}

TEST(EigenPairs, AreFoundWhereTheyAreEqualOrZero) {
  Rows<double> block(300, 300);  // three times the eigenvalue 100, else zero
  for (std::uint32_t i = 0; i < 300; ++i) {
    for (std::uint32_t j = 0; j < 300; ++j) block.row(i)[j] = i % 3 == j % 3 ? 1.0 : 0.0;
  }
  const EigenPairs pairs = leading_eigenpairs(block, 5);
  EXPECT_THAT(pairs.values, testing::Pointwise(testing::DoubleNear(1e-9), {100.0, 100.0, 100.0, 0.0, 0.0}));
  expect_pairs(block, pairs, 1e-9);
  Rows<double> identity(250, 250);
  for (std::uint32_t i = 0; i < 250; ++i) identity.row(i)[i] = 2;
  expect_pairs(identity, leading_eigenpairs(identity, 3), 1e-9);
  for (const double value : leading_eigenpairs(Rows<double>(300, 300), 3).values) EXPECT_NEAR(value, 0, 1e-12);
}

TEST(PointsWithGram, HaveTheDistancesOfTheRows) {
  Rows<float> rows = random_rows(12, 40, 5);
  std::ranges::copy(rows.view().row(2), rows.row(7).begin());
  const Rows<double> points = points_with_gram(gram(rows, Centring::kMean));
  const Rows<double> distances = l2_distances(rows);
  for (std::uint32_t i = 0; i < 12; ++i) {
    for (std::uint32_t j = 0; j < 12; ++j) {
      double squares = 0;
      for (std::size_t c = 0; c < points.width; ++c) {
        squares += (points.row(i)[c] - points.row(j)[c]) * (points.row(i)[c] - points.row(j)[c]);
      }
      EXPECT_NEAR(std::sqrt(squares), distances.row(i)[j], 1e-6) << i << " " << j;
    }
  }
}

}  // namespace
}  // namespace muster
