// Sums over pairs of rows against their definitions, on every instruction set.
#include "grouping/gram.h"

#include <functional>

#include "base/isa.h"
#include "grouping/vectors.h"

namespace muster {
namespace {

template <typename Term>
Rows<double> by_definition(const Rows<float>& rows, Term term, bool centred = false) {
  const std::uint32_t count = rows.count();
  std::vector<double> mean(rows.width);
  for (std::uint32_t i = 0; i < count && centred; ++i) {
    for (std::size_t c = 0; c < rows.width; ++c) mean[c] += static_cast<double>(rows.row(i)[c]) / count;
  }
  Rows<double> sums(count, count);
  for (std::uint32_t i = 0; i < count; ++i) {
    for (std::uint32_t j = 0; j < count; ++j) {
      for (std::size_t c = 0; c < rows.width; ++c) {
        sums.row(i)[j] += term(rows.row(i)[c] - mean[c], rows.row(j)[c] - mean[c]);
      }
    }
  }
  return sums;
}

void expect_near(const Rows<double>& found, const Rows<double>& wanted, double tolerance) {
  ASSERT_EQ(found.values.size(), wanted.values.size());
  for (std::size_t i = 0; i < found.values.size(); ++i) {
    ASSERT_NEAR(found.values[i], wanted.values[i], tolerance) << "entry " << i;
  }
  for (std::uint32_t i = 0; i < found.count(); ++i) {
    for (std::uint32_t j = 0; j < i; ++j) ASSERT_EQ(found.row(i)[j], found.row(j)[i]);
  }
}

// Sizes on both sides of the limit for double, of tiles, strips, bands and blocks.
class EveryIsa : public testing::TestWithParam<Isa> {
 protected:
  void SetUp() override { use_isa(GetParam()); }
  void TearDown() override { use_isa(before_); }

 private:
  Isa before_ = current_isa();
};

TEST_P(EveryIsa, SumsPairsOfAnyShape) {
  const auto l2 = [](double x, double y) { return (x - y) * (x - y); };
  const std::vector<std::pair<std::uint32_t, std::size_t>> shapes{{1, 1},     {3, 7},     {13, 40000}, {37, 6100},
                                                                  {61, 2999}, {133, 529}, {145, 1025}};
  for (const auto& [count, width] : shapes) {
    SCOPED_TRACE(testing::Message() << count << " x " << width);
    const Rows<float> rows = random_rows(count, width, count);
    const double scale = 1e-6 * static_cast<double>(width);
    expect_near(gram(rows), by_definition(rows, std::multiplies<>()), scale);
    expect_near(gram(rows, Centring::kMean), by_definition(rows, std::multiplies<>(), true), scale);
    expect_near(l1_distances(rows), by_definition(rows, [](double x, double y) { return std::abs(x - y); }), scale);
    Rows<double> squares = by_definition(rows, l2);
    for (double& value : squares.values) value = std::sqrt(value);
    expect_near(l2_distances(rows), squares, 1e-6 * std::sqrt(static_cast<double>(width)));
  }
}

TEST_P(EveryIsa, GivesEqualRowsEqualEntriesWhereverTheyStand) {
  Rows<float> rows = random_rows(101, 1700, 3);
  std::ranges::copy(rows.view().row(4), rows.row(99).begin());
  const Rows<double> products = gram(rows);
  const Rows<double> distances = l2_distances(rows);
  EXPECT_EQ(products.row(4)[99], products.row(4)[4]);
  EXPECT_EQ(distances.row(4)[99], 0.0);
  for (std::uint32_t j = 0; j < 101; ++j) {
    EXPECT_EQ(products.row(4)[j], products.row(99)[j]);
    EXPECT_EQ(distances.row(4)[j], distances.row(99)[j]);
  }
  const std::vector<std::uint32_t> order = random_order(101, 7);
  const Rows<double> exchanged = gram(permuted(rows, order));
  for (std::uint32_t i = 0; i < 101; ++i) {
    for (std::uint32_t j = 0; j < 101; ++j) ASSERT_EQ(exchanged.row(i)[j], products.row(order[i])[order[j]]);
  }
}

TEST_P(EveryIsa, KeepsTheDigitsOfNearVectors) {
  Rows<float> rows = random_rows(80, 2000, 5);
  for (std::uint32_t i = 0; i < 80; ++i) {
    for (std::size_t c = 0; c < 2000; ++c) rows.row(i)[c] = 8.0f + 0x1p-10f * std::round(rows.row(i)[c] * 16);
  }
  Rows<double> wanted = by_definition(rows, [](double x, double y) { return (x - y) * (x - y); });
  const Rows<double> found = l2_distances(rows);
  for (std::size_t i = 0; i < wanted.values.size(); ++i) {
    ASSERT_NEAR(found.values[i], std::sqrt(wanted.values[i]), 1e-6 * std::sqrt(wanted.values[i]));
  }
}

TEST_P(EveryIsa, TakesNumbersWhoseSquaresAreNoFloats) {
  Rows<float> rows = random_rows(70, 2000, 6);
  for (float& value : rows.values) value *= 1e30f;
  const Rows<double> products = gram(rows);
  for (std::uint32_t i = 0; i < 70; ++i) EXPECT_NEAR(products.row(i)[i] / 1e60, 2000, 400);
  EXPECT_TRUE(std::ranges::all_of(l2_distances(rows).values, [](double value) { return std::isfinite(value); }));
}

INSTANTIATE_TEST_SUITE_P(Gram, EveryIsa, testing::ValuesIn(available_isas().begin(), available_isas().end()),
                         [](const auto& isa) { return std::string(name(isa.param)); });

TEST(Gram, NormalisesToCosines) {
  Rows<double> cosines = gram(rows_of({{3, 4}, {4, 3}, {0, 0}, {-6, -8}}));
  normalize_gram(cosines);
  const std::vector<double> wanted{1, 0.96, 0, -1, 0.96, 1, 0, -0.96, 0, 0, 1, 0, -1, -0.96, 0, 1};
  for (std::size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(cosines.values[i], wanted[i], 1e-12) << i;
  EXPECT_NEAR(mean_length(rows_of({{1, 0}, {0, 1}})), std::sqrt(0.5), 1e-12);
}

TEST(Gram, RefusesMoreClientsThanAMatrixCanHold) {
  EXPECT_TRUE(check_pairs("agglomerative", 20'000));
  const Status many = check_pairs("agglomerative", 100'000);
  ASSERT_FALSE(many);
  EXPECT_EQ(many.error().message,
            "grouping.method: agglomerative compares every pair of an edge's clients and would run out of memory with "
            "100000, want at most "
            "20000");
}

}  // namespace
}  // namespace muster
