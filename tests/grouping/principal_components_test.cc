#include "grouping/principal_components.h"

#include <cmath>

#include "base/random.h"

namespace muster {
namespace {

// Rows around `clusters` centres, with axes of unequal spread and a mean far from zero.
Rows<float> cloud(std::uint32_t count, std::size_t width) {
  Stream stream({.seed = 5, .purpose = Purpose::kTest});
  Rows<float> rows(count, width);
  for (std::uint32_t i = 0; i < count; ++i) {
    for (std::size_t c = 0; c < width; ++c) {
      rows.row(i)[c] = static_cast<float>(100 + stream.normal() / (1.0 + static_cast<double>(c)));
    }
  }
  return rows;
}

double squared_distance(std::span<const float> a, std::span<const float> b) {
  double sum = 0;
  for (std::size_t c = 0; c < a.size(); ++c) sum += (double{a[c]} - b[c]) * (double{a[c]} - b[c]);
  return sum;
}

// Sum of squared distances between all pairs: the variance, up to a factor.
double spread(const Rows<float>& rows) {
  double sum = 0;
  for (std::uint32_t i = 0; i < rows.count(); ++i) {
    for (std::uint32_t j = 0; j < i; ++j) sum += squared_distance(rows.row(i), rows.row(j));
  }
  return sum;
}

TEST(PrincipalComponents, AllVarianceKeepsAllDistances) {
  for (const std::size_t width : {std::size_t{700}, std::size_t{6}}) {
    const Rows<float> rows = cloud(12, width);
    const Rows<float> reduced = principal_components(rows, 1);
    EXPECT_EQ(reduced.count(), 12u);
    EXPECT_LE(reduced.width, std::min<std::size_t>(12, width));
    for (std::uint32_t i = 0; i < 12; ++i) {
      for (std::uint32_t j = 0; j < i; ++j) {
        const double before = std::sqrt(squared_distance(rows.row(i), rows.row(j)));
        EXPECT_NEAR(std::sqrt(squared_distance(reduced.row(i), reduced.row(j))), before, 1e-5 * before) << width;
      }
    }
  }
}

TEST(PrincipalComponents, KeepAsFewAsHoldTheShare) {
  for (const std::size_t width : {std::size_t{700}, std::size_t{6}}) {
    const Rows<float> rows = cloud(12, width);
    const Rows<float> whole = principal_components(rows, 1);
    for (const double share : {0.5, 0.9, 0.99}) {
      const Rows<float> reduced = principal_components(rows, share);
      EXPECT_GE(spread(reduced), (share - 1e-6) * spread(rows)) << width << " " << share;
      ASSERT_LT(reduced.width, whole.width);
      // One component fewer would not do.
      Rows<float> fewer(12, reduced.width - 1);
      for (std::uint32_t i = 0; i < 12; ++i) {
        for (std::size_t c = 0; c < fewer.width; ++c) fewer.row(i)[c] = reduced.row(i)[c];
      }
      EXPECT_LT(spread(fewer), share * spread(rows)) << width << " " << share;
    }
  }
}

TEST(PrincipalComponents, AgreeWhicheverMatrixIsSmaller) {
  // Eight columns are fewer than nine rows; padded with constants they are more, and carry the same information.
  const Rows<float> narrow = cloud(9, 8);
  Rows<float> wide(9, 10);
  for (std::uint32_t i = 0; i < 9; ++i) {
    for (std::size_t c = 0; c < 10; ++c) wide.row(i)[c] = c < 8 ? narrow.row(i)[c] : 7.0f;
  }
  const Rows<float> a = principal_components(narrow, 0.95);
  const Rows<float> b = principal_components(wide, 0.95);
  ASSERT_EQ(a.width, b.width);
  for (std::size_t i = 0; i < a.values.size(); ++i) EXPECT_NEAR(a.values[i], b.values[i], 1e-5);
}

TEST(PrincipalComponents, AreOrderedAndCentred) {
  const Rows<float> reduced = principal_components(cloud(20, 300), 1);
  double before = INFINITY;
  for (std::size_t c = 0; c < reduced.width; ++c) {
    double sum = 0;
    double squares = 0;
    for (std::uint32_t i = 0; i < 20; ++i) {
      sum += reduced.row(i)[c];
      squares += double{reduced.row(i)[c]} * reduced.row(i)[c];
    }
    EXPECT_NEAR(sum, 0, 1e-4);
    EXPECT_LE(squares, before * (1 + 1e-6));
    before = squares;
  }
}

TEST(PrincipalComponents, EqualRowsAndOneRowAreZeros) {
  Rows<float> equal(4, 9);
  for (float& value : equal.values) value = 3;
  for (const Rows<float>& rows : {equal, Rows<float>(1, 5), Rows<float>(4, 2)}) {
    const Rows<float> reduced = principal_components(rows, 0.9);
    EXPECT_EQ(reduced.width, 1u);
    EXPECT_EQ(reduced.values, std::vector<float>(rows.count(), 0.0f));
  }
  EXPECT_EQ(principal_components({}, 0.9).count(), 0u);
}

}  // namespace
}  // namespace muster
