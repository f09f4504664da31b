// The discrepancy of outputs against numbers worked by hand, against the formula in double and its differences; its
// floor; and that it allocates nothing.
#include "solver/output_match.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/isa.h"
#include "base/random.h"
#include "counted_new.h"

namespace muster {
namespace {

using Matrix = std::vector<std::vector<double>>;

constexpr double kVariances[] = {1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1,   5,   10, 15,
                                 20,   25,   30,   35,   100,  1e3, 1e4, 1e5, 1e6};

double kernel(const std::vector<double>& a, const std::vector<double>& b) {
  double squares = 0;
  for (std::size_t c = 0; c < a.size(); ++c) squares += (a[c] - b[c]) * (a[c] - b[c]);
  double sum = 0;
  for (const double s : kVariances) sum += std::exp(-squares / (2 * s));
  return sum;
}

double mean_kernel(const Matrix& a, const Matrix& b) {
  double sum = 0;
  for (const auto& row : a) {
    for (const auto& other : b) sum += kernel(row, other);
  }
  return sum / static_cast<double>(a.size() * b.size());
}

double squared_mmd(const Matrix& x, const Matrix& y) {
  return mean_kernel(x, x) + mean_kernel(y, y) - 2 * mean_kernel(x, y);
}

// Rows of floats as the executor lays them out, and what add() made of them.
struct Term {
  Term(const Matrix& x, const Matrix& y, double weight, float before = 0)
      : width(x[0].size()), stride((width + 15) / 16 * 16), frozen(x.size() * stride), trained(frozen.size()) {
    for (std::size_t b = 0; b < x.size(); ++b) {
      for (std::size_t c = 0; c < width; ++c) {
        frozen[b * stride + c] = static_cast<float>(x[b][c]);
        trained[b * stride + c] = static_cast<float>(y[b][c]);
      }
    }
    gradient.assign(frozen.size(), before);
    value = OutputMatch().add({.batch = static_cast<std::uint32_t>(x.size()),
                               .outputs = width,
                               .stride = stride,
                               .frozen = frozen.data(),
                               .trained = trained.data(),
                               .gradient = gradient.data()},
                              weight);
  }
  std::size_t width, stride;
  std::vector<float> frozen, trained, gradient;
  double value = 0;
};

Matrix random_rows(std::size_t batch, std::size_t width, std::uint32_t id) {
  Stream stream({.seed = 3, .purpose = Purpose::kTest, .id = id});
  Matrix rows(batch, std::vector<double>(width));
  for (auto& row : rows) {
    for (double& value : row) value = static_cast<float>(stream.normal());
  }
  return rows;
}

void in_every_isa(const std::function<void()>& check) {
  const Isa before = current_isa();
  for (const Isa isa : available_isas()) {
    SCOPED_TRACE(std::string(name(isa)));
    use_isa(isa);
    check();
  }
  use_isa(before);
}

TEST(OutputMatch, NumbersByHand) {
  in_every_isa([] {
    // One pair at distance 1: 19 + 19 - 2 k(1), and the gradient 2 sum exp(-1 / 2s) / s.
    const Term one({{0.0}}, {{1.0}}, 1);
    EXPECT_NEAR(one.value, 13.28839092665207, 1e-5);
    EXPECT_NEAR(one.gradient[0], 2.3489284804896897, 1e-5);
    // Between 0 and 2, and 1 twice: (2 * 19 + 2 k(4)) / 4 + 19 - 2 k(1). By symmetry nothing pulls.
    const Term two({{0.0}, {2.0}}, {{1.0}, {1.0}}, 1);
    EXPECT_NEAR(two.value, 9.381119917691151, 1e-5);
    EXPECT_NEAR(two.gradient[0], 0, 1e-6);
    EXPECT_NEAR(two.gradient[16], 0, 1e-6);
  });
}

TEST(OutputMatch, FollowsTheFormulaAndItsDifferences) {
  in_every_isa([] {
    for (const auto& [batch, width] : {std::pair<std::size_t, std::size_t>{1, 1}, {3, 2}, {16, 10}, {33, 17}}) {
      SCOPED_TRACE(testing::Message() << batch << " x " << width);
      const Matrix x = random_rows(batch, width, 1);
      const Matrix y = random_rows(batch, width, 2);
      constexpr double kWeight = 0.3;
      const Term term(x, y, kWeight, 2);
      EXPECT_NEAR(term.value, squared_mmd(x, y), 1e-5 * (1 + term.value));
      for (std::size_t b = 0; b < batch; b += 5) {
        for (std::size_t c = 0; c < width; c += 3) {
          constexpr double kStep = 1e-5;
          Matrix above = y;
          Matrix below = y;
          above[b][c] += kStep;
          below[b][c] -= kStep;
          const double slope = (squared_mmd(x, above) - squared_mmd(x, below)) / (2 * kStep);
          // The executor's gradient is that of a sum over the batch.
          EXPECT_NEAR(term.gradient[b * term.stride + c] - 2, kWeight * static_cast<double>(batch) * slope, 2e-5);
        }
      }
      for (std::size_t c = width; c < term.stride; ++c) EXPECT_EQ(term.gradient[c], 2.0f) << "padding";
    }
  });
}

// Near distances, where the narrow Gaussians matter.
TEST(OutputMatch, SeesSmallDistances) {
  in_every_isa([] {
    const Matrix x = random_rows(4, 3, 1);
    Matrix y = x;
    for (auto& row : y) row[1] = static_cast<float>(row[1] + 0.002);
    const Term term(x, y, 1);
    EXPECT_NEAR(term.value, squared_mmd(x, y), 1e-3);
    Matrix above = y;
    Matrix below = y;
    above[2][1] += 1e-7;
    below[2][1] -= 1e-7;
    const double slope = (squared_mmd(x, above) - squared_mmd(x, below)) / 2e-7;
    EXPECT_NEAR(term.gradient[2 * 16 + 1], 4 * slope, 0.01 * std::abs(4 * slope));
  });
}

TEST(OutputMatch, EqualOutputsHaveNoneAtAllAndBelowTheFloorNothingPulls) {
  in_every_isa([] {
    const Matrix x = random_rows(13, 10, 1);
    const Term equal(x, x, 1e6, 2);
    EXPECT_EQ(equal.value, 0.0);
    EXPECT_EQ(equal.gradient, std::vector<float>(13 * 16, 2.0f));
    Matrix y = x;
    y[0][0] += 0x1.0p-17;
    const Term near(x, y, 1e6, 2);
    EXPECT_GT(near.value, 0);
    EXPECT_LT(near.value, OutputMatch::kFloor);
    EXPECT_EQ(near.gradient, equal.gradient);
  });
}

TEST(OutputMatch, DoesNotAllocateTwice) {
  std::vector<float> values(32 * 16, 1.0f);
  std::vector<float> gradient(32 * 16);
  OutputMatch match;
  const auto add = [&](std::uint32_t batch) {
    match.add({.batch = batch,
               .outputs = 10,
               .stride = 16,
               .frozen = values.data(),
               .trained = values.data(),
               .gradient = gradient.data()},
              1);
  };
  add(32);
  const std::size_t before = allocations();
  add(32);
  add(7);
  EXPECT_EQ(allocations(), before);
}

}  // namespace
}  // namespace muster
