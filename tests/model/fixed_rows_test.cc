// Fixed rows: the same weights as ordinary steps on the same batches, with and without pull and drift, and no
// allocation in a step.
#include "model/fixed_rows.h"

#include <array>
#include <cmath>

#include "counted_new.h"
#include "model/gradient_check.h"
#include "model/network.h"

namespace muster {
namespace {

struct RowsCase {
  std::vector<std::uint32_t> hidden;  // empty: softmax regression
  std::uint32_t inputs;
  std::uint32_t rows;
  std::uint32_t batch;
  float pull;
  bool drifts;
};

std::vector<float> normals(std::size_t size, std::uint32_t seed, double scale) {
  Stream stream = test_stream(seed);
  std::vector<float> values(size);
  for (float& value : values) value = static_cast<float>(scale * stream.normal());
  return values;
}

// Two epochs of batches, the last one smaller, in an order that is not that of the rows.
void train(const RowsCase& c, Executor& executor, const std::vector<float>& rows, bool fixed, std::size_t* allocated) {
  const StepRule rule{.learning_rate = 0.1f, .pull = c.pull};
  if (fixed) {
    float* to = executor.prepare_fixed_rows(c.rows);
    for (std::uint32_t i = 0; i < c.rows; ++i) {
      std::copy_n(rows.data() + i * c.inputs, c.inputs, to + i * executor.fixed_row_stride());
    }
    executor.begin_fixed_rows();
  }
  std::vector<std::uint32_t> chosen(c.batch);
  for (std::uint32_t epoch = 0; epoch < 2; ++epoch) {
    for (std::uint32_t at = 0; at < c.rows; at += c.batch) {
      const std::uint32_t batch = std::min(c.batch, c.rows - at);
      for (std::uint32_t i = 0; i < batch; ++i) {
        chosen[i] = c.rows - 1 - (at + i + epoch) % c.rows;
        executor.labels(batch)[i] = static_cast<std::int32_t>(chosen[i] % executor.network().classes());
      }
      const std::size_t before = allocations();
      if (fixed) {
        executor.train_fixed_rows(std::span(chosen).first(batch), rule);
      } else {
        for (std::uint32_t i = 0; i < batch; ++i) {
          std::copy_n(rows.data() + chosen[i] * c.inputs, c.inputs, executor.input(batch) + i * c.inputs);
        }
        executor.train(batch, rule);
      }
      // Each batch size is compiled when it first comes.
      if (epoch == 1) *allocated += allocations() - before;
    }
  }
  if (fixed) executor.end_fixed_rows();
}

TEST(FixedRows, TakeTheStepsOfOrdinaryTraining) {
  const std::array<RowsCase, 7> cases{{{{}, 784, 23, 10, 0, false},
                                       {{}, 37, 5, 1, 0.3f, true},
                                       {{19}, 37, 30, 7, 0, false},
                                       {{128}, 784, 60, 10, 0, false},
                                       {{48, 20}, 61, 40, 16, 0.3f, false},
                                       {{33}, 50, 14, 14, 0.2f, true},
                                       {{200}, 784, 20, 10, 0, true}}};  // a matrix in blocks
  for (const Isa isa : available_isas()) {
    const UseIsa use(isa);
    for (const RowsCase& c : cases) {
      SCOPED_TRACE(::testing::Message() << name(isa) << ", " << c.inputs << " inputs, " << c.rows << " rows");
      const auto network =
          make_network({.name = c.hidden.empty() ? "softmax" : "mlp", .hidden = c.hidden}, {1, 1, c.inputs}, 5).value();
      const std::vector<float> flat = random_parameters(*network, 1);
      const std::vector<float> rows = normals(std::size_t{c.rows} * c.inputs, 2, 1 / std::sqrt(double(c.inputs)));
      std::vector<float> after[2];
      for (const bool fixed : {false, true}) {
        Executor executor(network, c.batch);
        executor.load(flat);
        if (c.drifts) executor.set_drift(normals(network->size(), 3, 0.1));
        std::size_t allocated = 0;
        train(c, executor, rows, fixed, &allocated);
        EXPECT_EQ(allocated, 0u);
        after[fixed].resize(network->size());
        executor.store(after[fixed]);
      }
      for (std::size_t i = 0; i < flat.size(); ++i) ASSERT_NEAR(after[1][i], after[0][i], 5e-6) << i;
      EXPECT_NE(after[0], flat);
    }
  }
}

// A smaller set of rows after a larger one finds no traces of it.
TEST(FixedRows, ForgetTheRowsBefore) {
  const RowsCase small{{19}, 37, 12, 4, 0, false};
  const RowsCase large{{19}, 37, 50, 8, 0, false};
  const auto network = make_network({.name = "mlp", .hidden = small.hidden}, {1, 1, small.inputs}, 5).value();
  const std::vector<float> flat = random_parameters(*network, 1);
  const std::vector<float> rows = normals(std::size_t{large.rows} * large.inputs, 2, 0.2);
  std::vector<float> after[2];
  std::size_t allocated = 0;
  for (const bool again : {false, true}) {
    Executor executor(network, large.batch);
    if (again) {
      executor.load(flat);
      train(large, executor, rows, true, &allocated);
    }
    executor.load(flat);
    train(small, executor, rows, true, &allocated);
    after[again].resize(network->size());
    executor.store(after[again]);
  }
  EXPECT_EQ(after[0], after[1]);
}

TEST(FixedRows, PayForFewRowsAndManyEpochsOnDenseNetworks) {
  const auto pays = [](const std::string& model, Shape input, std::uint32_t rows, std::uint64_t samples) {
    return Executor(make_network({.name = model}, input, 10).value(), 10).fixed_rows_pay(rows, samples);
  };
  EXPECT_TRUE(pays("mlp", {28, 28, 1}, 60, 1200));
  EXPECT_FALSE(pays("mlp", {28, 28, 1}, 60, 60));
  EXPECT_FALSE(pays("mlp", {28, 28, 1}, 60000, 1200000));
  EXPECT_FALSE(pays("cnn", {28, 28, 1}, 60, 1200));
}

}  // namespace
}  // namespace muster
