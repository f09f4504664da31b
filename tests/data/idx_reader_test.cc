#include <map>
#include <numeric>
#include <set>

#include "data/error_text.h"
#include "data/readers/idx.h"
#include "scratch_folder.h"

namespace muster {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Bytes = std::vector<std::uint8_t>;

void put_32(Bytes& bytes, std::uint32_t value) {
  for (int shift = 24; shift >= 0; shift -= 8) bytes.push_back(static_cast<std::uint8_t>(value >> shift));
}

Bytes idx(std::uint8_t type, const std::vector<std::uint32_t>& dims, const Bytes& payload) {
  Bytes bytes{0, 0, type, static_cast<std::uint8_t>(dims.size())};
  for (const std::uint32_t size : dims) put_32(bytes, size);
  bytes.insert(bytes.end(), payload.begin(), payload.end());
  return bytes;
}

const Bytes kImages = idx(8, {2, 2, 3}, {0, 1, 2, 3, 4, 5, 10, 11, 12, 13, 14, 15});
const Bytes kLabels = idx(8, {2}, {4, 9});

TEST(IdxReader, ReadsEveryElementType) {
  const Bytes i16 = idx(0x0b, {2}, {0xff, 0xfe, 0x01, 0x02});
  const Bytes i32 = idx(0x0c, {1, 2}, {0xff, 0xff, 0xff, 0xff, 0, 1, 0, 0});
  auto words = parse_idx(i16);
  ASSERT_TRUE(words) << error_of(words);
  EXPECT_EQ(words->at(0), -2);
  EXPECT_EQ(words->at(1), 258);
  auto numbers = parse_idx(i32);
  ASSERT_TRUE(numbers) << error_of(numbers);
  EXPECT_EQ(numbers->at(0), -1);
  EXPECT_EQ(numbers->at(1), 65536);
  auto bytes = parse_idx(kLabels);
  ASSERT_TRUE(bytes) << error_of(bytes);
  EXPECT_EQ(bytes->at(1), 9);
}

TEST(IdxReader, RefusesBrokenArrays) {
  EXPECT_THAT(error_of(parse_idx(Bytes{0, 0, 8})), HasSubstr("too few"));
  EXPECT_THAT(error_of(parse_idx(Bytes{'P', 'K', 3, 4, 0, 0, 0, 0})), HasSubstr("wrong magic 504b0304"));
  EXPECT_THAT(error_of(parse_idx(idx(0x0d, {1}, {0, 0, 0, 0}))), HasSubstr("element type 0d"));
  EXPECT_THAT(error_of(parse_idx(Bytes{0, 0, 8, 0})), HasSubstr("no dimensions"));
  EXPECT_THAT(error_of(parse_idx(Bytes{0, 0, 8, 3, 0, 0, 0, 1})), HasSubstr("truncated header"));
  EXPECT_THAT(error_of(parse_idx(idx(8, {3}, {1, 2}))), HasSubstr("truncated: 2 bytes of data, 3 need 3"));
  EXPECT_THAT(error_of(parse_idx(idx(8, {3}, {1, 2, 3, 4}))), HasSubstr("1 trailing bytes"));
  EXPECT_THAT(error_of(parse_idx(idx(8, {0xffffffff, 0xffffffff, 0xffffffff}, {}))), HasSubstr("overflows"));
  EXPECT_THAT(error_of(parse_idx(idx(0x0c, {0x80000000, 0x40000000}, {}))), HasSubstr("overflows"));
}

TEST(IdxReader, PairsImagesWithLabels) {
  auto samples = parse_idx_samples(kImages, kLabels, {});
  ASSERT_TRUE(samples) << error_of(samples);
  EXPECT_EQ(samples->storage, Samples::Storage::kBytes);
  EXPECT_EQ(samples->shape, (Shape{2, 3, 1}));
  EXPECT_EQ(samples->classes, 10u);
  EXPECT_THAT(samples->labels, ElementsAre(4, 9));
  EXPECT_EQ(samples->bytes[7], 11);
}

TEST(IdxReader, TurnsTransposedStorageUpright) {
  auto samples = parse_idx_samples(kImages, kLabels, {.transposed = true});
  ASSERT_TRUE(samples) << error_of(samples);
  EXPECT_EQ(samples->shape, (Shape{3, 2, 1}));
  EXPECT_THAT(Bytes(samples->bytes.begin(), samples->bytes.begin() + 6), ElementsAre(0, 3, 1, 4, 2, 5));
}

TEST(IdxReader, RefusesPairsThatDoNotFit) {
  EXPECT_THAT(error_of(parse_idx_samples(kImages, idx(8, {3}, {1, 2, 3}), {})), HasSubstr("2 images but 3 labels"));
  EXPECT_THAT(error_of(parse_idx_samples(kImages, kLabels, {.classes = 9})),
              HasSubstr("row 1: label 9, want 0..8 (9 classes)"));
  EXPECT_THAT(error_of(parse_idx_samples(kImages, idx(0x0b, {2}, {0, 1, 0xff, 0xff}), {})), HasSubstr("label -1"));
  EXPECT_THAT(error_of(parse_idx_samples(kImages, idx(0x0c, {2}, {0, 0, 0, 0, 0x7f, 0, 0, 0}), {})),
              HasSubstr("too large"));
  EXPECT_THAT(error_of(parse_idx_samples(kLabels, kLabels, {})), HasSubstr("images: 1 dimensions"));
  EXPECT_THAT(error_of(parse_idx_samples(kImages, kImages, {})), HasSubstr("labels: 3 dimensions"));
  EXPECT_THAT(error_of(parse_idx_samples(idx(8, {0, 2, 2}, {}), idx(8, {0}, {}), {})), HasSubstr("no images"));
  EXPECT_THAT(error_of(parse_idx_samples(idx(8, {2, 0, 2}, {}), kLabels, {})), HasSubstr("0 x 2 pixels"));
}

TEST(IdxReader, FolderWithoutTestIsAllTrain) {
  const ScratchFolder folder;
  folder.write("train-images-idx3-ubyte", kImages);
  EXPECT_THAT(error_of(read_idx_folder(folder.path(), {})), HasSubstr("no train-labels-idx1-ubyte"));
  folder.write("train-labels-idx1-ubyte", kLabels);
  auto data = read_idx_folder(folder.path(), {});
  ASSERT_TRUE(data) << error_of(data);
  EXPECT_EQ(data->train.size(), 2u);
  EXPECT_EQ(data->test.size(), 0u);
}

TEST(IdxReader, FolderErrorsNameTheFile) {
  const ScratchFolder folder;
  EXPECT_THAT(error_of(read_idx_folder(folder.path(), {})), HasSubstr("no IDX files"));
  EXPECT_THAT(error_of(read_idx_folder(folder.path() / "absent", {})), HasSubstr("absent"));
  Bytes torn = kImages;
  torn.pop_back();
  folder.write("train-images-idx3-ubyte", torn);
  folder.write("train-labels-idx1-ubyte", kLabels);
  EXPECT_THAT(error_of(read_idx_folder(folder.path(), {})),
              testing::AllOf(HasSubstr("train-images-idx3-ubyte"), HasSubstr("truncated")));
}

TEST(IdxReader, TestImagesMustHaveTheTrainingShape) {
  const ScratchFolder folder;
  folder.write("train-images-idx3-ubyte", kImages);
  folder.write("train-labels-idx1-ubyte", kLabels);
  folder.write("t10k-images-idx3-ubyte", idx(8, {1, 1, 1}, {7}));
  folder.write("t10k-labels-idx1-ubyte", idx(8, {1}, {0}));
  EXPECT_THAT(error_of(read_idx_folder(folder.path(), {})), HasSubstr("images of 1 x 1"));
}

Bytes qmnist(const std::vector<std::pair<std::uint32_t, std::uint32_t>>& rows) {
  Bytes payload;
  for (const auto& [label, writer] : rows) {
    for (const std::uint32_t value : {label, 0u, writer, 0u, 0u, 0u, 0u, 0u}) put_32(payload, value);
  }
  return idx(0x0c, {static_cast<std::uint32_t>(rows.size()), 8}, payload);
}

TEST(IdxReader, WritersOfQmnistBecomeClients) {
  const ScratchFolder folder;
  folder.write("train-images-idx3-ubyte", kImages);
  folder.write("train-labels-idx1-ubyte", kLabels);
  EXPECT_THAT(error_of(read_idx_folder(folder.path(), {.writers = true})), HasSubstr("qmnist-train-labels"));
  folder.write("qmnist-train-labels-idx2-int", qmnist({{4, 70}, {9, 31}}));
  auto data = read_idx_folder(folder.path(), {.writers = true});
  ASSERT_TRUE(data) << error_of(data);
  EXPECT_THAT(data->train_clients, ElementsAre(1, 0));
  EXPECT_THAT(data->client_names, ElementsAre("writer 31", "writer 70"));
  folder.write("qmnist-train-labels-idx2-int", qmnist({{4, 70}, {8, 31}}));
  EXPECT_THAT(error_of(read_idx_folder(folder.path(), {.writers = true})), HasSubstr("row 1: class 8"));
  folder.write("qmnist-train-labels-idx2-int", qmnist({{4, 70}}));
  EXPECT_THAT(error_of(read_idx_folder(folder.path(), {.writers = true})), HasSubstr("1 rows for 2 training images"));
}

TEST(IdxReader, RefusesOtherQmnistTables) {
  EXPECT_THAT(error_of(parse_qmnist_labels(kLabels)), HasSubstr("not QMNIST labels"));
  EXPECT_THAT(error_of(parse_qmnist_labels(qmnist({{10, 1}}))), HasSubstr("class 10, want 0..9"));
  EXPECT_THAT(error_of(parse_qmnist_labels(qmnist({{1, 0x80000000}}))), HasSubstr("want 0 or more"));
}

std::vector<std::size_t> histogram(const Samples& samples) {
  std::vector<std::size_t> counts(samples.classes);
  for (const std::int32_t label : samples.labels) ++counts[static_cast<std::size_t>(label)];
  return counts;
}

TEST(IdxReaderRealData, Mnist) {
  const std::filesystem::path folder = MUSTER_SOURCE_DIR "/../shared/data/mnist";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "MNIST is not at " << folder;
  auto data = read_idx_folder(folder, {.classes = 10, .writers = true});
  ASSERT_TRUE(data) << error_of(data);
  EXPECT_EQ(data->train.size(), 60000u);
  EXPECT_EQ(data->test.size(), 10000u);
  EXPECT_EQ(data->train.shape, (Shape{28, 28, 1}));
  EXPECT_THAT(histogram(data->train), ElementsAre(5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949));
  EXPECT_EQ(data->client_names.size(), 539u);
  std::map<std::uint32_t, std::size_t> sizes;
  for (const std::uint32_t client : data->train_clients) ++sizes[client];
  const auto by_size = [](const auto& a, const auto& b) { return a.second < b.second; };
  EXPECT_EQ(std::min_element(sizes.begin(), sizes.end(), by_size)->second, 19u);
  EXPECT_EQ(std::max_element(sizes.begin(), sizes.end(), by_size)->second, 131u);
  EXPECT_TRUE(data->test_clients.empty());
}

TEST(IdxReaderRealData, FashionMnist) {
  const std::filesystem::path folder = "/usr/share/datasets/fashion-mnist";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "Fashion-MNIST is not at " << folder;
  auto data = read_idx_folder(folder, {.classes = 10});
  ASSERT_TRUE(data) << error_of(data);
  EXPECT_THAT(histogram(data->train), testing::Each(6000u));
  EXPECT_THAT(histogram(data->test), testing::Each(1000u));
}

TEST(IdxReaderRealData, EmnistTestSplitAlone) {
  const std::filesystem::path folder = MUSTER_SOURCE_DIR "/../shared/data/emnist";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "EMNIST is not at " << folder;
  auto data = read_idx_folder(folder, {.classes = 62, .transposed = true});
  ASSERT_TRUE(data) << error_of(data);
  EXPECT_EQ(data->train.size(), 116323u);
  EXPECT_EQ(data->test.size(), 0u);
  const auto counts = histogram(data->train);
  EXPECT_THAT(std::vector<std::size_t>(counts.begin(), counts.begin() + 10),
              ElementsAre(5778, 6330, 5869, 5969, 5619, 5190, 5705, 6139, 5633, 5686));
  EXPECT_EQ(std::accumulate(counts.begin() + 10, counts.end(), std::size_t{0}), 58405u);
  // Upright ones are tall: over all 1s the ink spreads further down than across.
  double tall = 0;
  for (std::size_t i = 0; i < data->train.size(); ++i) {
    if (data->train.labels[i] != 1) continue;
    const std::uint8_t* image = data->train.bytes.data() + i * 784;
    for (int r = 0; r < 28; ++r) {
      for (int c = 0; c < 28; ++c) tall += image[r * 28 + c] * ((r - 13.5) * (r - 13.5) - (c - 13.5) * (c - 13.5));
    }
  }
  EXPECT_GT(tall, 0);
}

}  // namespace
}  // namespace muster
