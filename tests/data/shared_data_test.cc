// Data in shared memory are the data that were put there, for whoever put them and for whoever sees them.
#include "data/shared_data.h"

#include <gtest/gtest.h>

#include <numeric>

#include "data/stored_data.h"

namespace muster {
namespace {

enum class Kind { kBytes, kFloats, kTokens, kWords };

Samples samples(Kind kind, std::uint32_t count, std::uint32_t first) {
  Samples made;
  made.classes = 4;
  made.shape = {4, 4, 1};
  for (std::uint32_t i = 0; i < count; ++i) made.labels.push_back(static_cast<std::int32_t>((first + i) % 4));
  const std::size_t values = count * made.shape.size();
  switch (kind) {
    case Kind::kBytes:
      made.storage = Samples::Storage::kBytes;
      for (std::size_t i = 0; i < values; ++i) made.bytes.push_back(static_cast<std::uint8_t>(first + 7 * i));
      break;
    case Kind::kFloats:
      made.storage = Samples::Storage::kFloats;
      for (std::size_t i = 0; i < values; ++i) made.floats.push_back(static_cast<float>(first + i) / 3);
      made.scale = {2};
      made.offset = {-1};
      break;
    case Kind::kTokens:
      made.storage = Samples::Storage::kTokens;
      made.shape = {.height = 1, .width = 16, .channels = 1, .tokens = 50};
      for (std::size_t i = 0; i < values; ++i) made.tokens.push_back(static_cast<std::uint32_t>((first + i) % 50));
      break;
    case Kind::kWords: {
      made.storage = Samples::Storage::kTokens;
      made.shape = {1, 8, 2};
      for (std::uint32_t i = 0; i < count * 8; ++i) made.tokens.push_back((first + i) % 5);
      WordVectors vectors{.dimension = 2};
      for (int i = 0; i < 10; ++i) vectors.rows.push_back(static_cast<float>(i) / 10);
      made.vectors = std::make_shared<const WordVectors>(std::move(vectors));
      break;
    }
  }
  return made;
}

struct Case {
  const char* name;
  Kind kind;
  DataOptions options;
  bool has_test = true;
};

class SharedData : public testing::TestWithParam<Case> {
 protected:
  static std::unique_ptr<FederatedData> made() {
    RawData raw;
    raw.train = samples(GetParam().kind, 240, 0);
    if (GetParam().has_test) {
      raw.test = samples(GetParam().kind, 60, 1000);
      raw.test.vectors = raw.train.vectors;
    }
    auto data = divide_among_clients(std::move(raw), GetParam().options, 3, "rows");
    EXPECT_TRUE(data) << data.error().message;
    return data ? *std::move(data) : nullptr;
  }
};

// All that a view shows.
struct Seen {
  std::vector<float> values;
  std::vector<std::int32_t> labels;
  bool operator==(const Seen&) const = default;
};

Seen seen(const SampleView& view) {
  Seen all;
  if (view.size() == 0) return all;
  std::vector<std::uint32_t> positions(view.size());
  std::iota(positions.begin(), positions.end(), 0u);
  all.values.resize(view.size() * view.samples->shape.size());
  all.labels.resize(view.size());
  gather(view, positions, {}, nullptr, all.values.data(), all.labels.data());
  return all;
}

void expect_same(const FederatedData& a, const FederatedData& b) {
  ASSERT_EQ(a.clients(), b.clients());
  EXPECT_EQ(a.shape(), b.shape());
  EXPECT_EQ(a.classes(), b.classes());
  EXPECT_EQ(a.edges(), b.edges());
  EXPECT_EQ(a.largest_train_count(), b.largest_train_count());
  EXPECT_EQ(seen(a.global_test()), seen(b.global_test()));
  EXPECT_EQ(seen(a.global_validation()), seen(b.global_validation()));
  EXPECT_EQ(seen(a.exemplars()), seen(b.exemplars()));
  SampleBuffer one;
  SampleBuffer other;
  for (std::uint32_t k = 0; k < a.clients(); ++k) {
    const ClientId client{k};
    EXPECT_EQ(a.train_count(client), b.train_count(client));
    EXPECT_EQ(a.test_count(client), b.test_count(client));
    EXPECT_EQ(a.validation_count(client), b.validation_count(client));
    EXPECT_EQ(a.label_counts(client), b.label_counts(client));
    EXPECT_EQ(a.edge(client), b.edge(client));
    EXPECT_EQ(a.planted_cluster(client), b.planted_cluster(client));
    EXPECT_EQ(seen(a.train(client, one)), seen(b.train(client, other)));
    EXPECT_EQ(seen(a.test(client, one)), seen(b.test(client, other)));
    EXPECT_EQ(seen(a.validation(client, one)), seen(b.validation(client, other)));
  }
}

DataOptions options(std::initializer_list<const char*> what) {
  DataOptions made{.partition = "iid", .clients = 6};
  for (const std::string one : what) {
    if (one == "edges") made.edges = 2;
    if (one == "exemplars") made.exemplars = 2;
    if (one == "validation") made.validation_fraction = 0.2;
    if (one == "own tests") made.test_fraction = 0.25;
    if (one == "merged") made.merge_test = true;
    if (one == "rotated-copies" || one == "rotations" || one == "dirichlet") made.partition = one;
  }
  if (made.partition != "iid") made.clients = 8;
  return made;
}

INSTANTIATE_TEST_SUITE_P(, SharedData,
                         testing::Values(Case{"bytes", Kind::kBytes, options({})},
                                         Case{"bytes_of_own_tests", Kind::kBytes, options({"own tests", "edges"})},
                                         Case{"bytes_without_tests", Kind::kBytes, options({"validation"}), false},
                                         Case{"bytes_turned", Kind::kBytes, options({"rotations", "exemplars"})},
                                         Case{"bytes_turned_copies", Kind::kBytes, options({"rotated-copies"})},
                                         Case{"floats", Kind::kFloats, options({"dirichlet", "exemplars"})},
                                         Case{"floats_merged", Kind::kFloats, options({"merged", "validation"})},
                                         Case{"tokens", Kind::kTokens, options({"own tests"})},
                                         Case{"words", Kind::kWords, options({"validation"})}),
                         [](const auto& param_info) { return std::string(param_info.param.name); });

TEST_P(SharedData, IsTheSameForAll) {
  const std::unique_ptr<FederatedData> before = made();
  const std::unique_ptr<FederatedData> first = made();
  ASSERT_TRUE(before && first);
  const auto memory = first->share();
  ASSERT_TRUE(memory.ok() && *memory);
  expect_same(*first, *before);
  const auto again = SharedMemory::attach((*memory)->place());
  ASSERT_TRUE(again) << again.error().message;
  const auto second = attach_data(*again);
  ASSERT_TRUE(second) << second.error().message;
  expect_same(**second, *before);
}

// The first has no copy of its own left: its values are those of the memory.
TEST_P(SharedData, IsThereOnce) {
  const std::unique_ptr<FederatedData> first = made();
  ASSERT_TRUE(first);
  const auto memory = first->share();
  ASSERT_TRUE(memory.ok() && *memory);
  SampleBuffer buffer;
  const Samples& values = *first->train({0}, buffer).samples;
  EXPECT_TRUE(values.labels.empty() && values.bytes.empty() && values.floats.empty() && values.tokens.empty() &&
              !values.vectors);
  const std::span<const std::byte> all = (*memory)->bytes();
  const auto* const at = reinterpret_cast<const std::byte*>(values.values().labels.data());
  EXPECT_TRUE(at > all.data() && at < all.data() + all.size());
  const auto again = first->share();
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(*again, *memory);
}

TEST(SharedDataOf, SamplesThatAreGeneratedIsNothing) {
  DataOptions synthetic{.source = "synthetic", .clients = 5};
  EXPECT_FALSE(stores_samples(synthetic));
  const auto data = make_federated_data(synthetic, 1);
  ASSERT_TRUE(data);
  const auto memory = (*data)->share();
  ASSERT_TRUE(memory.ok());
  EXPECT_EQ(*memory, nullptr);
}

TEST(SharedDataOf, SomethingElseAreRefused) {
  for (const std::uint64_t bytes : {0u, 10u, 64u, 1000u}) {
    const auto memory = SharedMemory::make(bytes, [](std::span<std::byte> room) {
      for (std::byte& byte : room) byte = std::byte{0x55};
    });
    ASSERT_TRUE(memory) << memory.error().message;
    EXPECT_FALSE(attach_data(*memory));
  }
}

}  // namespace
}  // namespace muster
