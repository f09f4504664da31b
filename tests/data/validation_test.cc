// data.validation-fraction: rows that no client trains on and no test has.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "data/stored_data.h"
#include "data/view_rows.h"

namespace muster {
namespace {

// Images of 2 x 2 whose first pixel tells the row.
RawData rows(std::uint32_t count) {
  RawData raw;
  raw.train.shape = {2, 2, 1};
  raw.train.classes = 2;
  for (std::uint32_t row = 0; row < count; ++row) {
    raw.train.labels.push_back(static_cast<std::int32_t>(row % 2));
    raw.train.floats.insert(raw.train.floats.end(), {static_cast<float>(row), 0, 0, 0});
  }
  return raw;
}

std::unique_ptr<FederatedData> divided_rows(RawData raw, const DataOptions& options) {
  auto data = divide_among_clients(std::move(raw), options, 7, "rows");
  EXPECT_TRUE(data) << data.error().message;
  return data ? *std::move(data) : nullptr;
}

TEST(Validation, IsNothingByDefault) {
  const auto data = divided_rows(rows(100), {.clients = 10});
  SampleBuffer buffer;
  EXPECT_EQ(data->validation_count({3}), 0u);
  EXPECT_EQ(data->validation({3}, buffer).size(), 0u);
  EXPECT_EQ(data->global_validation().size(), 0u);
}

TEST(Validation, TakesRowsFromTheTrainingPartAlone) {
  DataOptions options{.clients = 10};
  const auto without = divided_rows(rows(1000), options);
  options.validation_fraction = 0.2;
  const auto with = divided_rows(rows(1000), options);
  SampleBuffer buffer;
  std::vector<std::uint32_t> all;
  for (std::uint32_t k = 0; k < 10; ++k) {
    EXPECT_EQ(with->validation_count({k}), 18u);  // a fifth of 90
    EXPECT_EQ(with->train_count({k}), 72u);
    EXPECT_EQ(rows_of(with->test({k}, buffer)), rows_of(without->test({k}, buffer)));
    std::vector<std::uint32_t> joined = rows_of(with->train({k}, buffer));
    const auto held = rows_of(with->validation({k}, buffer));
    joined.insert(joined.end(), held.begin(), held.end());
    std::ranges::sort(joined);
    EXPECT_EQ(joined, rows_of(without->train({k}, buffer)));
    all.insert(all.end(), held.begin(), held.end());
  }
  std::ranges::sort(all);
  EXPECT_EQ(rows_of(with->global_validation()), all);
}

TEST(Validation, NeverTakesAClientsLastRow) {
  RawData raw = rows(3);
  raw.train_clients = {0, 1, 1};
  raw.client_names = {"a", "b"};
  const auto data = divided_rows(std::move(raw), {.test_fraction = 0.0, .validation_fraction = 0.9});
  EXPECT_EQ(data->train_count({0}), 1u);
  EXPECT_EQ(data->validation_count({0}), 0u);
  EXPECT_EQ(data->train_count({1}), 1u);
  EXPECT_EQ(data->validation_count({1}), 1u);
}

// A row that several clients train on, turned, must be in nobody's validation.
TEST(Validation, OfCopiedRowsIsHeldOutBeforeTheyAreCopied) {
  for (const double test_fraction : {0.0, 0.2}) {
    DataOptions options{.partition = "rotated-copies", .clients = 8};
    options.test_fraction = test_fraction;
    options.validation_fraction = 0.25;
    const auto data = divided_rows(rows(200), options);
    SampleBuffer buffer;
    std::set<std::uint32_t> trained, validated, tested;
    for (std::uint32_t k = 0; k < data->clients(); ++k) {
      for (const std::uint32_t row : data->train({k}, buffer).rows) trained.insert(row);
      for (const std::uint32_t row : data->validation({k}, buffer).rows) validated.insert(row);
      for (const std::uint32_t row : data->test({k}, buffer).rows) tested.insert(row);
    }
    EXPECT_EQ(validated.size(), test_fraction > 0 ? 40u : 50u);
    EXPECT_EQ(tested.size(), test_fraction > 0 ? 40u : 0u);
    for (const std::uint32_t row : validated) EXPECT_FALSE(trained.contains(row) || tested.contains(row)) << row;
  }
}

TEST(Validation, OfVirtualClientsIsDrawnApart) {
  DataOptions options{.source = "synthetic", .clients = 20, .samples_min = 100, .samples_max = 100};
  const auto without = make_federated_data(options, 3);
  options.validation_fraction = 0.1;
  const auto with = make_federated_data(options, 3);
  ASSERT_TRUE(without && with);
  EXPECT_EQ((*with)->train_count({4}), 81u);
  EXPECT_EQ((*with)->validation_count({4}), 9u);
  EXPECT_EQ((*with)->test_count({4}), 10u);
  EXPECT_EQ((*with)->largest_train_count(), 81u);
  EXPECT_EQ((*with)->global_validation().size(), 180u);
  EXPECT_EQ((*without)->global_validation().size(), 0u);
  SampleBuffer one, other;
  const SampleView train = (*with)->train({4}, one);
  const SampleView before = (*without)->train({4}, other);
  // The first samples are those that would be trained on without validation.
  EXPECT_TRUE(std::equal(train.samples->floats.begin(), train.samples->floats.end(), before.samples->floats.begin()));
  const SampleView validation = (*with)->validation({4}, other);
  EXPECT_NE(validation.samples->floats[0], train.samples->floats[0]);
}

TEST(Validation, RefusesAFractionThatLeavesNothing) {
  const auto data = divide_among_clients(rows(10), {.validation_fraction = 1.0}, 7, "rows");
  ASSERT_FALSE(data);
  EXPECT_EQ(data.error().message, "data.validation-fraction: 1, want a number in [0, 1)");
}

TEST(Notes, TellOfClassesThatOnlyTestRowsHave) {
  RawData raw = rows(10);
  raw.train.classes = 3;
  raw.test = raw.train;
  raw.test.labels[4] = 2;
  raw.preparation.classes = {"cat", "dog", "fox\n"};
  const auto data = divided_rows(std::move(raw), {.clients = 2});
  ASSERT_EQ(data->notes().size(), 1u);
  EXPECT_EQ(data->notes()[0], "1 of 3 classes is in test rows but in no training row: 'fox\\n'");
  EXPECT_EQ(data->class_name(1), "dog");
}

}  // namespace
}  // namespace muster
