#include <chrono>
#include <cmath>

#include "data/blobs.h"
#include "data/synthetic_data.h"

namespace muster {
namespace {

using testing::HasSubstr;

std::unique_ptr<FederatedData> made(const DataOptions& options, std::uint64_t seed = 3, bool iid = false) {
  auto data = make_synthetic_data(options, seed, iid);
  EXPECT_TRUE(data.ok()) << data.error().message;
  return std::move(data).value();
}

TEST(Synthetic, ClientsAreRepeatableWhateverTheBufferHeld) {
  const auto data = made({.clients = 50u});
  SampleBuffer buffer;
  const SampleView first = data->train({7}, buffer);
  ASSERT_EQ(first.size(), data->train_count({7}));
  const std::vector<float> features = first.samples->floats;
  const std::vector<std::int32_t> labels = first.samples->labels;
  (void)data->train({8}, buffer);
  EXPECT_NE(buffer.samples.floats, features);
  const SampleView again = data->train({7}, buffer);
  EXPECT_EQ(again.samples->floats, features);
  EXPECT_EQ(again.samples->labels, labels);
  SampleBuffer other;
  EXPECT_EQ(made({.clients = 1000u})->train({7}, other).samples->floats, features);
  EXPECT_NE(made({.clients = 50u}, 4)->train({7}, other).samples->floats, features);
}

TEST(Synthetic, CountsAtOnceAreThoseOneByOne) {
  for (const double validation : {0.0, 0.3}) {
    const auto data = made({.clients = 200u, .validation_fraction = validation});
    for (std::uint32_t k = 0; k < 200; ++k) {
      const SampleCounts counts = data->counts({k});
      EXPECT_EQ(counts.train, data->train_count({k}));
      EXPECT_EQ(counts.test, data->test_count({k}));
      EXPECT_EQ(counts.validation, data->validation_count({k}));
    }
  }
}

TEST(Synthetic, DoesNotAllocateOnceWarm) {
  const auto data = made({.clients = 200u});
  SampleBuffer buffer;
  (void)data->train({0}, buffer);
  const float* memory = buffer.samples.floats.data();
  for (std::uint32_t k = 0; k < 200; ++k) {
    const SampleView view = data->train({k}, buffer);
    EXPECT_EQ(view.samples->floats.data(), memory);
    EXPECT_EQ(view.samples->floats.size(), view.size() * 60);
    EXPECT_EQ(view.samples->labels.size(), view.size());
  }
}

TEST(Synthetic, SizesFollowTheLawWithinTheBound) {
  const auto data = made({.clients = 20000u});
  std::vector<double> logs;
  std::uint32_t largest = 0;
  for (std::uint32_t k = 0; k < 20000; ++k) {
    const std::uint32_t size = data->train_count({k}) + data->test_count({k});
    ASSERT_GE(size, 50u);
    largest = std::max(largest, size);
    logs.push_back(size);
  }
  EXPECT_EQ(largest, kSyntheticMostSamples);
  std::nth_element(logs.begin(), logs.begin() + 10000, logs.end());
  EXPECT_NEAR(logs[10000], 50 + std::exp(4.0), 5);
}

TEST(Synthetic, SplitsNineToOneInsideTheClient) {
  const auto data = made({.clients = 10u});
  SampleBuffer train;
  SampleBuffer test;
  for (std::uint32_t k = 0; k < 10; ++k) {
    const double total = data->train_count({k}) + data->test_count({k});
    EXPECT_NEAR(data->test_count({k}), total / 10, 0.51);
    EXPECT_EQ(data->test({k}, test).size(), data->test_count({k}));
    EXPECT_NE(data->train({k}, train).samples->floats[0], test.samples.floats[0]);
  }
  std::uint32_t tests = 0;
  for (std::uint32_t k = 0; k < 10; ++k) tests += data->test_count({k});
  EXPECT_EQ(data->global_test().size(), tests);
}

// The mean feature of client k is B_k + a sum of 60 deviations over 60: a variance of beta^2 + 1/60 and a little.
TEST(Synthetic, ClientsLieApartByBeta) {
  for (const double beta : {0.0, 1.0, 3.0}) {
    const auto data = made({.clients = 400u, .beta = beta, .samples_min = 20u, .samples_max = 20u});
    SampleBuffer buffer;
    double squares = 0;
    for (std::uint32_t k = 0; k < 400; ++k) {
      const SampleView view = data->train({k}, buffer);
      double sum = 0;
      for (const float value : view.samples->floats) sum += value;
      const double mean = sum / static_cast<double>(view.samples->floats.size());
      squares += mean * mean;
    }
    EXPECT_NEAR(squares / 400, beta * beta + 1.0 / 60, 0.25 * beta * beta + 0.01) << beta;
  }
}

TEST(Synthetic, NoClientHasMoreThanTheLargest) {
  DataOptions bounded{.clients = 300, .samples_min = 10, .samples_max = 40, .test_fraction = 0.25};
  for (const DataOptions& options : {bounded, DataOptions{.clients = 300}}) {
    const auto data = make_synthetic_data(options, 3, false);
    ASSERT_TRUE(data.ok());
    std::uint32_t largest = 0;
    for (std::uint32_t k = 0; k < 300; ++k) largest = std::max(largest, (*data)->train_count({k}));
    EXPECT_LE(largest, (*data)->largest_train_count());
  }
  EXPECT_EQ((*make_synthetic_data(bounded, 3, false))->largest_train_count(), 30u);
  EXPECT_EQ((*make_synthetic_data({}, 3, false))->largest_train_count(), 18000u);
}

TEST(Synthetic, LabelCountsAreThoseOfTheSamples) {
  const auto data = made({.clients = 5u});
  SampleBuffer buffer;
  std::vector<std::uint32_t> counts(10, 0);
  for (const std::int32_t label : data->train({2}, buffer).samples->labels) ++counts[static_cast<std::size_t>(label)];
  EXPECT_EQ(data->label_counts({2}), counts);
}

// Feature j has variance (j + 1)^-1.2 around the client's centre; with beta = 0 centres are N(0, 1) themselves.
TEST(Synthetic, FeaturesHaveTheStatedSpread) {
  const auto data = made({.clients = 3u, .samples_min = 20000u, .samples_max = 20000u, .test_fraction = 0.0});
  SampleBuffer buffer;
  const SampleView view = data->train({1}, buffer);
  for (const std::size_t j : {0, 9, 59}) {
    double mean = 0;
    double square = 0;
    for (std::size_t i = 0; i < view.size(); ++i) {
      const double x = view.samples->floats[i * 60 + j];
      mean += x;
      square += x * x;
    }
    mean /= 20000;
    EXPECT_NEAR((square / 20000 - mean * mean) / std::pow(j + 1.0, -1.2), 1, 0.05);
  }
}

TEST(SyntheticIid, SharesOneModel) {
  // The class mix of a client against that of the next, mean over 20 clients.
  const auto distance = [](bool iid) {
    const auto data = made({.clients = 21u, .samples_min = 2000u, .samples_max = 2000u, .test_fraction = 0.0}, 3, iid);
    double sum = 0;
    for (std::uint32_t k = 0; k < 20; ++k) {
      const auto a = data->label_counts({k});
      const auto b = data->label_counts({k + 1});
      for (std::size_t c = 0; c < 10; ++c) sum += std::abs(static_cast<double>(a[c]) - b[c]) / 2000 / 20;
    }
    return sum;
  };
  EXPECT_LT(distance(true), 0.12);
  EXPECT_GT(distance(false), 1.2);
  EXPECT_THAT(made({}, 3, true)->summary(), HasSubstr("synthetic-iid"));
}

TEST(Synthetic, AMillionClientsStartAtOnce) {
  const auto start = std::chrono::steady_clock::now();
  const auto data = made({.clients = 1000000u});
  std::uint64_t total = 0;
  for (std::uint32_t k = 0; k < 1000000; ++k) total += data->train_count({k});
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  EXPECT_GT(total, 300000000u);
  EXPECT_LT(took.count(), 3);
  RecordProperty("milliseconds", static_cast<int>(took.count() * 1000));
}

TEST(Synthetic, ExemplarsLeaveTheServersTest) {
  const auto plain = made({.clients = 100u});
  const auto data = made({.clients = 100u, .exemplars = 5});
  EXPECT_EQ(data->exemplars().size(), 50u);
  EXPECT_EQ(data->global_test().size() + 50, plain->global_test().size());
}

TEST(Synthetic, RefusesWhatItCannotDo) {
  const auto error = [](const DataOptions& options) { return make_synthetic_data(options, 1, false).error().message; };
  EXPECT_THAT(error({.partition = "iid"}), HasSubstr("data.partition: iid"));
  EXPECT_EQ(error({.clients = 0u}), "data.clients: 0, want at least 1");
  EXPECT_EQ(error({.alpha = -1.0}), "data.alpha: -1, want a finite number >= 0");
  EXPECT_EQ(error({.samples_max = 30000u}), "data.samples-max: 30000, want 1..20000");
  EXPECT_EQ(error({.test_fraction = 1.5}), "data.test-fraction: 1.5, want a number in [0, 1)");
  EXPECT_EQ(error({.clients = 3u, .edges = 4}), "data.edges: 4, want 1..3 (the clients)");
}

// The nearest class mean must beat chance by far, and must leave room for a better model.
TEST(Blobs, AreLearnableButNotTrivial) {
  const RawData data = make_blobs();
  ASSERT_EQ(data.train.size(), 12000u);
  ASSERT_EQ(data.test.size(), 2000u);
  ASSERT_EQ(data.train.bytes.size(), 12000u * 784);
  std::vector<double> means(10 * 784, 0.0);
  for (std::size_t i = 0; i < 12000; ++i) {
    for (std::size_t j = 0; j < 784; ++j) {
      means[static_cast<std::size_t>(data.train.labels[i]) * 784 + j] += data.train.bytes[i * 784 + j] / 1200.0;
    }
  }
  int correct = 0;
  for (std::size_t i = 0; i < 2000; ++i) {
    double best = 1e300;
    std::int32_t guess = -1;
    for (std::int32_t c = 0; c < 10; ++c) {
      double distance = 0;
      for (std::size_t j = 0; j < 784; ++j) {
        distance += std::pow(data.test.bytes[i * 784 + j] - means[static_cast<std::size_t>(c) * 784 + j], 2);
      }
      if (distance < best) best = distance, guess = c;
    }
    correct += guess == data.test.labels[i] ? 1 : 0;
  }
  EXPECT_GT(correct, 1200);
  EXPECT_LT(correct, 1900);
  RecordProperty("nearest_mean_correct_of_2000", correct);
}

}  // namespace
}  // namespace muster
